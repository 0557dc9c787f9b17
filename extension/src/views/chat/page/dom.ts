/** Make elements without HTML text. */

type Attributes = Record<string, string | boolean | number | ((event: Event) => void)>;
type Child = Node | string | null | undefined | false;

/** Return an element; functions become listeners, `true` an empty attribute, `false` none. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function icon(name: string): HTMLElement {
  const [glyph = "", spin] = name.split("~");
  return h("i", { class: `codicon codicon-${glyph}${spin ? " spin" : ""}`, "aria-hidden": "true" });
}

/** A button that is only an icon, with its name for everyone. */
export function iconButton(name: string, label: string, click: () => void): HTMLButtonElement {
  return h("button", { type: "button", class: "icon-button", title: label, "aria-label": label, click }, icon(name));
}

export function button(label: string, look: "primary" | "secondary", click: () => void): HTMLButtonElement {
  return h("button", { type: "button", class: look, click }, label);
}

/** Put these in, in place of what was there. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
}

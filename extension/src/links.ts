/** Find `path:line` references in text. */

export interface PathLink {
  /** Where the reference stands in the text. */
  start: number;
  end: number;
  path: string;
  /** Counts from 1. */
  line: number;
  endLine: number | undefined;
}

// A path has a dot or a slash, so that `12:30` or `note:3` is none; Windows drives are allowed in front.
const REFERENCE =
  /(?:[A-Za-z]:[\\/])?(?:[\w.@+~-]+[\\/])*[\w.@+~-]*[A-Za-z_][\w.@+~-]*(?::L?|#L)(\d+)(?:-L?(\d+)|:(\d+))?/gu;

/** Return the references in order; whether such a file exists is for the caller to find out. */
export function pathLinks(text: string): PathLink[] {
  const links: PathLink[] = [];
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, line, endLine] = match;
    const path = whole.replace(/(?::L?|#L)\d+(?:-L?\d+|:\d+)?$/u, "");
    const before = text[match.index - 1] ?? " ";
    const looksLikePath = /[\\/]/.test(path) || /\.\w+$/.test(path) || /^(?:Makefile|Dockerfile)$/.test(path);
    // `https://host:80` and the inside of a longer word are no files.
    if (!looksLikePath || /[\w/:@]/.test(before) || line === undefined || Number(line) === 0) continue;
    links.push({
      start: match.index,
      end: match.index + whole.length,
      path,
      line: Number(line),
      endLine: endLine === undefined ? undefined : Number(endLine),
    });
  }
  return links;
}

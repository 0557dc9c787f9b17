import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "out/", "server/", "node_modules/", "src/protocol.ts"] },
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: ["./tsconfig.json", "./tsconfig.page.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "no-console": "error",
      eqeqeq: "error",
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", 60],
      "max-params": ["error", 5],
      // A number or a flag in a sentence for people needs no String() around it.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // `() => this.changed.fire()` is the shortest way to say it.
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // The editor's emitters and views are disposables by shape.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      // An empty text is as good as none.
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: { string: true } }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/consistent-type-imports": "error",
    },
  },
  {
    // `node:test` awaits its own tests.
    files: ["test/**"],
    rules: { "@typescript-eslint/no-floating-promises": "off", "max-lines-per-function": "off" },
  },
  { files: ["**/*.mjs"], rules: { eqeqeq: "error" } },
);

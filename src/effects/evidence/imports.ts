/** The names that a source file imports, in the languages that people write services in. Found line by line, not parsed. */
export interface Imported {
  readonly name: string;
  readonly line: number;
}

const SCRIPT = [
  /\bfrom\s+['"]([^'"]+)['"]/g,
  /\bimport\s*\(?\s*['"]([^'"]+)['"]/g,
  /\brequire\s*\(\s*['"]([^'"]+)['"]/g,
];
const DOTTED = [/^\s*import\s+(?:static\s+)?([\w.]+)/g];
const LANGUAGES: { readonly [extension: string]: readonly RegExp[] } = {
  ts: SCRIPT,
  tsx: SCRIPT,
  mts: SCRIPT,
  cts: SCRIPT,
  js: SCRIPT,
  jsx: SCRIPT,
  mjs: SCRIPT,
  cjs: SCRIPT,
  py: [/^\s*from\s+([\w.]+)\s+import\b/g, /^\s*import\s+([\w.]+)/g],
  cs: [/^\s*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)\s*;/g],
  java: DOTTED,
  kt: DOTTED,
  scala: DOTTED,
  go: [/^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w./-]+)"\s*$/g],
  rs: [/^\s*(?:pub\s+)?use\s+([\w:]+)/g],
};

export function importsIn(path: string, text: string): Imported[] {
  const patterns = LANGUAGES[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''] ?? [];
  return text.split('\n').flatMap((said, index) =>
    patterns.flatMap((pattern) =>
      [...said.slice(0, 1_000).matchAll(pattern)].map(([, name = '']) => ({
        name: name.replaceAll('::', '.'),
        line: index + 1,
      })),
    ),
  );
}

/**
 * Checks files against the layers of a manifest: a layer may import itself, the layers it may depend on, and anything outside
 * the project. Without a manifest it passes.
 */
import { posix } from 'node:path';
import { RE2JS } from 're2js';
import { parse } from 'yaml';
import { ARTIFACTS } from '@sluice-internal/kernel/catalog';
import { filesBelow } from '@sluice-internal/platform';
import { setting } from '../artifacts.ts';
import { invalid, pass, type Validator } from '../evidence.ts';

interface Layer {
  readonly name: string;
  readonly owns: (path: string) => boolean;
  readonly namespaces: readonly string[];
  readonly mayUse: ReadonlySet<string>;
}
type Declared = {
  readonly Name?: unknown;
  readonly Paths?: unknown;
  readonly Namespaces?: unknown;
  readonly MayDependOn?: unknown;
};

const SHOWN_MAX = 10;
const FILES_MAX = 20_000;
const SKIPPED = new Set('node_modules .git .fuseraft dist build target bin obj .venv __pycache__'.split(' '));

export const architectureValidator: Validator = async (evidence) => {
  const path = setting(evidence, 'ArchitecturePath', ARTIFACTS.architecture);
  const text = await evidence.readText(path);
  if (text === null) return pass();
  const layers = layersIn(text);
  if (layers === null) return invalid(`\`${path}\` cannot be read as a list of layers.`);
  const walked = await filesBelow({ list: (folder) => evidence.files.list(folder), skipped: SKIPPED, max: FILES_MAX });
  if (walked?.isCut === true)
    return invalid(`The work directory has more files or folders than can be checked (${FILES_MAX}).`);
  const found: string[] = [];
  for (const file of walked?.files ?? []) {
    const layer = layers.find(({ owns }) => owns(file));
    if (layer !== undefined) found.push(...crossingsIn(file, (await evidence.readText(file)) ?? '', layer, layers));
  }
  if (found.length === 0) return pass();
  const more = found.length > SHOWN_MAX ? [`and ${found.length - SHOWN_MAX} more`] : [];
  return invalid(['Layers are crossed:', ...found.slice(0, SHOWN_MAX), ...more].join('\n'));
};

function crossingsIn(file: string, source: string, layer: Layer, layers: readonly Layer[]): readonly string[] {
  return importsIn(file, source).flatMap(({ name, line }) => {
    const target = layerOf(name, file, layers);
    if (target === undefined || target === layer || layer.mayUse.has(target.name) || layer.mayUse.has('*')) return [];
    return [`${file}:${line}: ${layer.name} must not depend on ${target.name} (\`${name}\`)`];
  });
}

function layersIn(text: string): Layer[] | null {
  try {
    const { Layers } = parse(text) as { Layers?: readonly Declared[] };
    if (!Array.isArray(Layers)) return null;
    return (Layers as readonly Declared[]).map(({ Name, Paths, Namespaces, MayDependOn }) => {
      const globs = textsIn(Paths).map(glob);
      return {
        name: String(Name),
        owns: (path) => globs.some((matches) => matches(path)),
        namespaces: textsIn(Namespaces),
        mayUse: new Set(textsIn(MayDependOn)),
      };
    });
  } catch {
    return null;
  }
}

/** The layer of an import: by relative path, by namespace, or by a dotted or slashed path of the project. */
function layerOf(name: string, file: string, layers: readonly Layer[]): Layer | undefined {
  if (name.startsWith('.') && !/^\.+\w/.test(name)) {
    const path = posix.join(posix.dirname(file), name);
    return layers.find(({ owns }) => owns(path));
  }
  const bySpace = layers.find(({ namespaces }) =>
    namespaces.some((space) => name === space || name.startsWith(`${space}.`) || name.startsWith(`${space}/`)),
  );
  return bySpace ?? layers.find(({ owns }) => owns(name) || owns(name.replaceAll('.', '/')));
}

/** A folder matches everything under it; `*` matches part of a name, `**` any folders. */
function glob(pattern: string): (path: string) => boolean {
  const clean = pattern.replace(/^\.\//, '').replace(/\/+$/, '');
  if (!clean.includes('*')) return (path) => path === clean || path.startsWith(`${clean}/`);
  const source = clean
    .split(/(\*\*\/|\*\*|\*)/)
    .map((part) => (part === '**/' ? '(?:.*/)?' : part === '**' ? '.*' : part === '*' ? '[^/]*' : RE2JS.quote(part)))
    .join('');
  const compiled = RE2JS.compile(`^${source}$`);
  return (path) => compiled.matcher(path).find();
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
}

/** The imports of a line, by the extension of the file. */
const LANGUAGES: readonly (readonly [extension: RegExp, imports: readonly RegExp[]])[] = [
  [
    /^[cm]?[jt]s$|^[jt]sx$/,
    [/\bfrom\s+['"]([^'"]+)['"]/g, /\bimport\s*\(?\s*['"]([^'"]+)['"]/g, /\brequire\s*\(\s*['"]([^'"]+)['"]/g],
  ],
  [/^py$/, [/^\s*from\s+([\w.]+)\s+import\b/g, /^\s*import\s+([\w.]+)/g]],
  [/^cs$/, [/^\s*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)\s*;/g]],
  [/^(?:java|kt|scala)$/, [/^\s*import\s+(?:static\s+)?([\w.]+)/g]],
  [/^go$/, [/^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w./-]+)"\s*$/g]],
  [/^rs$/, [/^\s*(?:pub\s+)?use\s+([\w:]+)/g]],
];

/** The names that a source file imports, found line by line. */
function importsIn(path: string, source: string): { readonly name: string; readonly line: number }[] {
  const extension = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  const [, patterns] = LANGUAGES.find(([of]) => of.test(extension)) ?? [null, []];
  return source.split('\n').flatMap((text, index) =>
    patterns.flatMap((pattern) =>
      [...text.slice(0, 1_000).matchAll(pattern)].map(([, name = '']) => ({
        name: name.replaceAll('::', '.'),
        line: index + 1,
      })),
    ),
  );
}

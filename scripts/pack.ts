/**
 * Packs `sluice` and `create-sluice` as they are published: without scripts, which would run on the machine of a user, and `sluice`
 * with a list of everything that is inside (SBOM, CycloneDX).
 *
 *   npm run pack -- FOLDER
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root, run } from './tool.ts';

/** Fields of `package.json` that only the project needs. */
const OWN_FIELDS = ['scripts', 'devDependencies', 'workspaces', 'allowScripts'];
const SBOM = 'sbom.cdx.json';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
  readonly [field: string]: unknown;
}

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dependencies?: { readonly [name: string]: string };
}

/** Returns the files. */
export function packInto(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  return [root, join(root, 'packages/create-sluice')].map((from) => {
    const staged = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
    try {
      npm(from, ['pack', '--ignore-scripts', '--pack-destination', staged]);
      const manifest = read(join(from, 'package.json')) as Manifest;
      demand('tar', ['-xzf', join(staged, `${manifest.name}-${manifest.version}.tgz`), '-C', staged]);
      const unpacked = join(staged, 'package');
      const published = Object.fromEntries(Object.entries(manifest).filter(([field]) => !OWN_FIELDS.includes(field)));
      const files = from === root ? [...manifest.files, SBOM] : manifest.files;
      write(join(unpacked, 'package.json'), { ...published, files });
      if (from === root) write(join(unpacked, SBOM), sbomOf(manifest, bundled()));
      npm(unpacked, ['pack', '--ignore-scripts', '--pack-destination', resolve(folder)]);
      return join(resolve(folder), `${manifest.name}-${manifest.version}.tgz`);
    } finally {
      rmSync(staged, { recursive: true, force: true });
    }
  });
}

/** Every package whose code the bundle has or needs: those that the packages of the project depend on, and theirs. */
function bundled(): { readonly [path: string]: Locked } {
  const { packages } = read(join(root, 'package-lock.json')) as { readonly packages: { [path: string]: Locked } };
  const found: { [path: string]: Locked } = {};
  const visit = (from: string, { dependencies = {} }: Locked): void => {
    for (const name of Object.keys(dependencies)) {
      const path = placeOf(from, name, packages);
      const entry = path === undefined ? undefined : packages[path];
      if (path === undefined || entry === undefined)
        throw new Error(`${from} needs ${name}, which is not in the lock file`);
      if (entry.link === true || found[path] !== undefined) continue;
      found[path] = entry;
      visit(path, entry);
    }
  };
  for (const [path, entry] of Object.entries(packages))
    if (path === '' || /^packages\/[^/]+$/.test(path)) visit(path, entry);
  return found;
}

/** As Node finds it: in the nearest `node_modules`. */
function placeOf(from: string, name: string, packages: object): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (folder === '') return undefined;
  }
}

function sbomOf({ name, version }: Manifest, packages: { readonly [path: string]: Locked }): object {
  const component = (of: string, at: string) => ({ type: 'library', name: of, version: at, purl: purlOf(of, at) });
  const components = Object.entries(packages).map(([path, { version: at = '', integrity = '', license }]) => ({
    ...component(path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), at),
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
  }));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: component(name, version) },
    components: components.toSorted((one, other) => one.purl.localeCompare(other.purl, 'en')),
  };
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function npm(cwd: string, args: readonly string[]): void {
  demand('npm', args, cwd);
}

function demand(command: string, args: readonly string[], cwd: string = root): void {
  const { ok, output } = run(command, args, { cwd });
  if (!ok) throw new Error(output);
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function write(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

if (import.meta.main) for (const file of packInto(process.argv[2] ?? 'release')) process.stdout.write(`${file}\n`);

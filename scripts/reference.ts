/**
 * Writes `docs/reference` from the doc comments of the public exports, with TypeDoc. `--check` writes nothing and fails if the
 * pages differ from the comments. TypeDoc has an installation of its own: it needs another TypeScript than the project.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeDeclarations } from './declarations.ts';
import { root, run } from './tool.ts';

const home = join(root, 'reference');
const pages = join(root, 'docs', 'reference');

process.exitCode = main(process.argv.includes('--check'));

function main(isCheck: boolean): number {
  if (!existsSync(join(home, 'node_modules/typedoc'))) {
    const installed = run('npm', ['ci', '--prefix', home, '--no-audit', '--no-fund']);
    if (!installed.ok) return complain(installed.output);
  }
  const built = run('tsc', ['-b', 'packages/cli', 'packages/client']);
  if (!built.ok) return complain(built.output);
  writeDeclarations();
  const out = isCheck ? mkdtempSync(join(tmpdir(), 'sluice-reference-')) : pages;
  try {
    const typedoc = join(home, 'node_modules/typedoc/bin/typedoc');
    const made = run('node', [typedoc, '--options', join(home, 'typedoc.json'), '--out', out]);
    if (!made.ok) return complain(made.output);
    for (const file of readdirSync(out)) writeFileSync(join(out, file), withAnchors(textOf(out, file) ?? ''));
    const stale = isCheck ? readdirSync(out).filter((file) => textOf(out, file) !== textOf(pages, file)) : [];
    return stale.length === 0
      ? 0
      : complain(`docs/reference is out of date: ${stale.join(', ')}. Run npm run reference.`);
  } finally {
    if (isCheck) rmSync(out, { recursive: true, force: true });
  }
}

/** TypeDoc numbers headings that occur again in another way than pages do. Such links go to the last heading of that name. */
function withAnchors(page: string): string {
  const headings = new Map<string, number>();
  for (const [, heading = ''] of page.matchAll(/^#+ (.*)$/gm)) {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
    headings.set(anchor, (headings.get(anchor) ?? 0) + 1);
  }
  return page.replaceAll(/\]\(#([\w-]+?)-(\d+)\)/g, (link, name: string, given: string) => {
    const times = headings.get(name) ?? 0;
    return times === 0 || Number(given) < times ? link : `](#${name}${times === 1 ? '' : `-${times - 1}`})`;
  });
}

function textOf(dir: string, file: string): string | null {
  const path = join(dir, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function complain(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

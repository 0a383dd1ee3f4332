/** What the pages say can be found: links lead somewhere, and the commands of the README are those that CI runs. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compile } from '../../src/index.ts';
import { documentSchema } from '../../src/compile/document/schema/schema.ts';
import { FUNCTION_NAMES } from '../../src/expr/functions.ts';
import { COMMANDS } from '../../src/surfaces/cli/command-table.ts';
import { createProgram } from '../../src/surfaces/cli/program.ts';
import { createScreen } from '../../src/surfaces/cli/screen.ts';
import { pathsIn, read, root } from './tree.ts';

const pages = pathsIn('.').filter((path) => path.endsWith('.md'));

describe('pages', () => {
  test('link to files that exist', () => {
    const dead = pages.flatMap((page) =>
      linksIn(read(page))
        .filter((link) => !/^([a-z]+:|#)/.test(link))
        .filter((link) => !existsSync(join(root, dirname(page), decodeURI(link.replace(/#.*$/, '')))))
        .map((link) => `${page}: ${link}`),
    );
    expect(dead).toEqual([]);
  });

  test('link to headings that exist', () => {
    const dead = pages.flatMap((page) =>
      linksIn(read(page))
        .filter((link) => /^[^:]*#/.test(link) && /^(#|[^#]*\.md#)/.test(link))
        .filter((link) => {
          const [path = '', anchor = ''] = link.split('#');
          const target = path === '' ? page : join(dirname(page), path);
          return existsSync(join(root, target)) && !headingsOf(read(target)).includes(anchor);
        })
        .map((link) => `${page}: ${link}`),
    );
    expect(dead).toEqual([]);
  });
});

test('the page of expressions names every function, and its document compiles', () => {
  const page = read('docs/guide/expressions.md');
  expect(FUNCTION_NAMES.filter((name) => !new RegExp(`[\`.]${name}[\`(]`).test(page))).toEqual([]);
  const [, document = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  expect(compile(document).diagnostics).toEqual([]);
});

test('the page of the document has every shared key, every field of an agent and every budget', () => {
  const page = read('docs/dialects/README.md');
  const fields = (heading: string): string[] => {
    const section = page.split(/^## /m).find((each) => each.startsWith(heading)) ?? '';
    const cells = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell);
    return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)).toSorted();
  };
  const shapes = documentSchema([]) as unknown as { $defs: { [name: string]: Shape } } & Shape;
  const shape = (given: Shape = {}): Shape =>
    given.$ref === undefined ? given : shape(shapes.$defs[given.$ref.replace('#/$defs/', '')]);
  const shared = shape(shapes).properties ?? {};
  const keys = (given: Shape | undefined): string[] => Object.keys(shape(given).properties ?? {}).toSorted();
  expect(fields('Shared keys')).toEqual(Object.keys(shared).toSorted());
  expect(fields('An agent')).toEqual(keys(shape(shared['agents']).items));
  expect(fields('Budgets')).toEqual(keys(shared['budgets']));
});

test('the page of the command line has every command with all its options', () => {
  const sections = read('docs/guide/cli.md').split(/^##+ /m);
  const { options } = createProgram(createScreen(), () => undefined);
  const section = (heading: string): string =>
    sections.filter((each) => new RegExp(`^.*${heading}(?![a-z])`).test(each)).join('');
  const everywhere = section('Options of every command');
  expect(options.flatMap(({ long }) => (everywhere.includes(`\`${long}`) ? [] : [long]))).toEqual([]);
  // `cancel` explains the options of all commands that continue a run.
  const missing = Object.entries(COMMANDS).flatMap(([path, spec]) => {
    const own = section(`\`sluice ${path.split(' ')[0]}`);
    const text = '--accept-changed-code' in spec ? own + section('`sluice cancel') : own;
    const names = Object.keys(spec).flatMap((part) => /--[a-z-]+/.exec(part) ?? []);
    return [...(own === '' ? [''] : []), ...names.filter((name) => !new RegExp(`${name}(?![a-z-])`).test(text))].map(
      (name) => `${path} ${name}`,
    );
  });
  expect(missing).toEqual([]);
});

describe('the README', () => {
  const commands = [...read('README.md').matchAll(/```(?:sh|bash|console)?\n([\s\S]*?)```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .map((line) => line.replace(/^\$ /, '').trim());

  test('gives a command that runs an example, with files that exist', () => {
    const run = commands.find((line) => line.startsWith('npm ci && npx sluice run '));
    expect(run).toBeDefined();
    const files = [...(run ?? '').matchAll(/\bexamples\/\S+/g)].map(([file]) => file);
    expect(files.length).toBeGreaterThan(1);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('prints documents that compile', () => {
    const documents = [...read('README.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
    expect(documents.length).toBeGreaterThan(2);
    for (const text of documents)
      expect([text, compile(text).diagnostics.filter(({ severity }) => severity === 'error')]).toEqual([text, []]);
  });

  test('gives the command that CI runs', () => {
    const [last] = read('.ci/run').trimEnd().split('\n').slice(-1);
    expect(last).toBe('npm ci && npm test');
    expect(commands).toContain(last);
  });
});

test('AGENTS.md has fewer than 300 words', () => {
  expect(read('AGENTS.md').split(/\s+/).length).toBeLessThan(300);
});

interface Shape {
  readonly $ref?: string;
  readonly items?: Shape;
  readonly properties?: { readonly [name: string]: Shape };
}

function linksIn(page: string): string[] {
  const prose = page.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)].map(([, link]) => link as string);
}

/** Anchors of a page. A heading that occurs again has a number. */
function headingsOf(page: string): string[] {
  const seen = new Map<string, number>();
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replace(/ /g, '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
  return [...headings, ...[...page.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id)];
}

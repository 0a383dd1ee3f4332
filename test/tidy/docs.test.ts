/** What the pages say can be found: links lead somewhere, and the commands of the README are those that CI runs. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { documentSchema } from '@sluice-internal/compile/document';
import { NOTATIONS } from '@sluice-internal/notations/driver';
import { FUNCTION_NAMES, isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { createScreen } from '@sluice-internal/library/documents';
import { COMMANDS } from '../../packages/cli/src/table/command-table.ts';
import { createProgram } from '../../packages/cli/src/program.ts';
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

test('each row about where a change goes names files and folders that exist', () => {
  const table = read('CONTRIBUTING.md').split('## Where a change goes')[1]?.split(/^## /m)[0] ?? '';
  const rows = table.split('\n').filter((line) => line.includes('`packages/'));
  const dead = rows.flatMap((row) => {
    const names = [...row.matchAll(/`([\w./-]+(?:\.ts|\/|\/\w+))`/g)].map(([, name = '']) => name);
    const folders = names.filter((name) => name.includes('/')).flatMap((name) => [name, dirname(name)]);
    return names.filter((name) => !['', ...folders].some((folder) => existsSync(join(root, folder, name))));
  });
  expect(rows.length).toBeGreaterThan(20);
  expect(dead).toEqual([]);
});

test('the list of examples has every document', () => {
  const list = read('examples/README.md');
  const documents = pathsIn('examples').filter((path) =>
    /^examples\/[^/]+\.(flow|workflow|loop|staged)\.yaml$/.test(path),
  );
  expect(documents.length).toBeGreaterThan(30);
  expect(documents.filter((path) => !list.includes(path.replace('examples/', '`')))).toEqual([]);
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

describe('every key of a document', () => {
  const schema = documentSchema(NOTATIONS) as unknown as { $defs: Keys; anyOf: readonly { properties: Keys }[] };
  const found = new Map(
    schema.anyOf.flatMap(({ properties }) => Object.entries(properties).map(([key, shape]) => [key, shape] as const)),
  );

  /** The keys below a shape, each with its path and its description. References are followed once. */
  function keysIn(shape: Json | undefined, path: string, seen = new Set<Json>()): (readonly [string, Json])[] {
    if (Array.isArray(shape)) return shape.flatMap((each) => keysIn(each, path, seen));
    if (!isRecord(shape) || seen.has(shape)) return [];
    seen.add(shape);
    const { $ref: ref, properties, items, anyOf, oneOf, allOf, additionalProperties } = shape;
    return [
      ...[target(ref), items, anyOf, oneOf, allOf, additionalProperties].flatMap((each) => keysIn(each, path, seen)),
      ...Object.entries(isRecord(properties) ? properties : {}).flatMap(([key, each]) => [
        [`${path}.${key}`, described(each)] as const,
        ...keysIn(each, `${path}.${key}`, seen),
      ]),
    ];
  }
  const target = (ref: Json | undefined): Json => schema.$defs[String(ref).replace('#/$defs/', '')] ?? null;
  const described = (shape: Json): Json =>
    isRecord(shape) ? (shape['description'] ?? described(target(shape['$ref']))) : null;

  test('has a description for editors', () => {
    const bare = [...keysIn(schema as unknown as Json, '')].filter(([, description]) => description === null);
    expect(bare.map(([path]) => path)).toEqual([]);
  });

  const TEAM = pathsIn('docs/dialects/team').map((path) => path.replace('docs/', ''));
  test.each([
    ['flow', 'dialects/flow.md', 'dialects/README.md'],
    ['workflow', 'dialects/workflow.md'],
    ['Orchestration', 'dialects/team.md', 'guide/evidence.md', 'guide/memory.md', 'guide/verifier.md', ...TEAM],
    [
      'staged',
      'dialects/staged.md',
      'dialects/README.md',
      'guide/protections.md',
      'guide/failures.md',
      'guide/approvals.md',
    ],
    ['loop', 'dialects/loop.md', 'guide/memory.md'],
    ['models', 'guide/models.md'],
    ['agents', 'dialects/README.md', 'guide/boundaries.md', 'guide/memory.md', 'guide/models.md'],
    ['tools', 'guide/tools.md', 'guide/approvals.md'],
    ['mcp', 'guide/mcp.md'],
    ['boundary', 'guide/boundaries.md', 'dialects/README.md'],
    ['protections', 'guide/protections.md', 'guide/failures.md'],
    ['policies', 'guide/policies.md'],
    ['pii', 'guide/personal-data.md'],
    ['people', 'guide/approvals.md'],
    ['notify', 'guide/approvals.md'],
    ['review_queue', 'guide/approvals.md'],
    ['retain', 'guide/retention.md'],
  ])('of `%s` is on its pages', (key, ...on) => {
    const code = on.flatMap((page) => read(`docs/${page}`).match(/```[\s\S]*?```|`[^`\n]+`/g) ?? []).join('\n');
    const missing = keysIn(found.get(key), key).filter(
      ([path]) => !new RegExp(`\\b${path.split('.').at(-1)}\\b`).test(code),
    );
    expect(missing.map(([path]) => path)).toEqual([]);
  });
});

test('documents on the pages of strategies are parts of their examples', () => {
  const plain = (text: string): string => text.replaceAll(/^ +/gm, '').trim();
  const others = pathsIn('docs/dialects/team').flatMap((page) => {
    const example = /^This is a part of `(examples\/[^`]+)`/m.exec(read(page))?.[1];
    const [block = ''] = /(?<=```yaml\n)[\s\S]*?(?=```)/.exec(read(page)) ?? [];
    // The example may have other sections between the sections that the page shows.
    const parts = plain(block).split(/^(?=(?:Contracts|Selection|Termination):)/m);
    return example === undefined || parts.every((part) => plain(read(example)).includes(part.trim())) ? [] : [page];
  });
  expect(others).toEqual([]);
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
  const commands = [...read('README.md').matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, language = '']) => ['', 'sh'].includes(language))
    .flatMap(([, , block = '']) => block.split('\n'))
    .map((line) => line.replace(/^\$ /, '').trim());

  test('gives a command that runs an example, with files that exist', () => {
    const run = commands.find((line) => line.startsWith('npm ci && npx sluice run '));
    expect(run).toBeDefined();
    const files = [...(run ?? '').matchAll(/\bexamples\/\S+/g)].map(([file]) => file);
    expect(files.length).toBeGreaterThan(1);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('shows pictures that exist', () => {
    const pictures = [...read('README.md').matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, file = '']) => file);
    expect(pictures.length).toBeGreaterThan(3);
    expect(pictures.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('prints documents that compile', () => {
    const documents = [...read('README.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
    expect(documents.length).toBeGreaterThan(0);
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

type Keys = { readonly [key: string]: Json };

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

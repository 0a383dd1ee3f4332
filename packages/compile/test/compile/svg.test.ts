import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Picture, PictureEdge, PictureNode, ShapeKind } from '../../src/picture/picture.ts';
import { layoutGraph } from '../../src/picture/svg/graph.ts';
import { orderRows } from '../../src/picture/svg/order.ts';
import { place } from '../../src/picture/svg/place.ts';
import { separate } from '../../src/picture/svg/separate.ts';
import { renderSvg } from '../../src/picture/svg/svg.ts';
import { ANY_CHARACTER } from '../../../../test/support/any-character.ts';

const KINDS: readonly ShapeKind[] = [
  'agent',
  'tool',
  'decision',
  'approval',
  'parallel',
  'join',
  'terminal',
  'end',
  'start',
];
const EDGES = ['route', 'error', 'branch', 'join', 'over'] as const;

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const pictures: fc.Arbitrary<Picture> = fc.integer({ min: 1, max: 14 }).chain((count) =>
  fc
    .record({
      kinds: fc.array(fc.constantFrom(...KINDS), { minLength: count, maxLength: count }),
      words: fc.array(fc.string({ maxLength: 40, unit: ANY_CHARACTER }), { minLength: count, maxLength: count }),
      edges: fc.array(
        fc.record({
          from: fc.nat(count - 1),
          to: fc.nat(count - 1),
          kind: fc.constantFrom(...EDGES),
          label: fc.option(fc.string({ maxLength: 60 })),
          back: fc.boolean(),
        }),
        { maxLength: 30 },
      ),
      bound: fc.option(fc.string({ maxLength: 20 })),
    })
    .map(({ kinds, words, edges, bound }) => ({
      title: words[0] ?? '',
      notation: 'flow',
      description: null,
      nodes: kinds.map((kind, index): PictureNode => ({
        id: `n${index}`,
        kind,
        label: words[index] ?? '',
        detail: words[count - index - 1] ?? null,
        description: null,
      })),
      edges: edges.map(({ from, to, ...rest }): PictureEdge => ({ from: `n${from}`, to: `n${to}`, ...rest })),
      cycles: [{ nodes: kinds.map((_, index) => `n${index}`), bound }],
    })),
);

test('in any graph, nothing that stands in one row overlaps: neither nodes nor labels', () => {
  fc.assert(
    fc.property(pictures, (picture) => {
      const graph = layoutGraph(picture);
      orderRows(graph);
      const { x, rowTop, rowBottom, width } = place(graph);
      for (const row of graph.rows) {
        for (let index = 1; index < row.length; index++) {
          const [a, b] = [row[index - 1] as number, row[index] as number];
          expect((x[b] as number) - (graph.items[b]?.left ?? 0)).toBeGreaterThan(
            (x[a] as number) + (graph.items[a]?.right ?? 0),
          );
        }
      }
      for (let row = 1; row < rowTop.length; row++) expect(rowTop[row]).toBeGreaterThan(rowBottom[row - 1] as number);
      for (const [item, { left, right }] of graph.items.entries()) {
        expect((x[item] as number) - left).toBeGreaterThanOrEqual(-1e-6);
        expect((x[item] as number) + right).toBeLessThanOrEqual(width + 1e-6);
      }
    }),
    { seed, numRuns: 200 },
  );
});

test('any picture gives well-formed XML without NaN, the same every time', () => {
  fc.assert(
    fc.property(pictures, (picture) => {
      const svg = renderSvg(picture);
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
      expect(svg.replaceAll(/<(?:[a-z]+|\/[a-z]+)(?:\s[^<>]*)?>/g, '')).not.toMatch(/[<>]/);
      expect(svg.match(/<path class="edge/g)?.length ?? 0).toBe(picture.edges.length);
      expect(renderSvg(picture)).toBe(svg);
    }),
    { seed, numRuns: 100 },
  );
});

test('an edge that leads back points up, and an error is drawn as one', () => {
  const node = (id: string, kind: ShapeKind): PictureNode => ({
    id,
    kind,
    label: id,
    detail: null,
    description: 'says <more> & "this"',
  });
  const svg = renderSvg({
    title: 'loop',
    notation: 'flow',
    description: null,
    nodes: [node('start', 'start'), node('work', 'agent'), node('check', 'approval'), node('end', 'end')],
    edges: [
      { from: 'start', to: 'work', kind: 'route', label: null, back: false },
      { from: 'work', to: 'check', kind: 'route', label: null, back: false },
      { from: 'check', to: 'work', kind: 'route', label: 'again', back: true },
      { from: 'check', to: 'end', kind: 'error', label: 'TimeoutError', back: false },
    ],
    cycles: [{ nodes: ['work', 'check'], bound: 'max_iterations: 5' }],
  });
  expect(svg).toMatch(/<path class="edge route back" d="[^"]+"\/>\n<path class="tip route"/);
  expect(svg).toMatch(/<path class="edge error" d="[^"]+"\/>\n<path class="tip error"/);
  expect(svg).toContain('↺ max_iterations: 5');
  expect(svg).toContain('says &lt;more&gt; &amp; &quot;this&quot;');
  expect(svg).toContain('prefers-color-scheme:dark');
});

test('a very large picture is drawn in reasonable size: its longest edges go around it', () => {
  const nodes = Array.from({ length: 600 }, (_, index): PictureNode => ({
    id: `n${index}`,
    kind: 'agent',
    label: `n${index}`,
    detail: null,
    description: null,
  }));
  const edges = nodes.slice(1).flatMap(({ id }, index): PictureEdge[] => [
    { from: `n${index}`, to: id, kind: 'route', label: null, back: false },
    { from: `n${index}`, to: 'n599', kind: 'error', label: 'any', back: false },
  ]);
  const picture = { title: 'long', notation: 'flow', description: null, nodes, edges, cycles: [] };
  expect(layoutGraph(picture).items.length).toBeLessThan(5000);
  expect(renderSvg(picture)).not.toContain('NaN');
});

test('positions are the nearest ones that keep their distance', () => {
  const before = [[], [{ left: 0, right: 1, gap: 10 }], [{ left: 1, right: 2, gap: 10 }]];
  expect(separate([0, 0, 0], [1, 1, 1], [0, 1, 2], before)).toEqual([-10, 0, 10]);
  expect(separate([0, 50, 55], [1, 1, 1], [0, 1, 2], before)).toEqual([0, 47.5, 57.5]);
  expect(separate([0, 0, 0], [1e9, 1, 1], [0, 1, 2], before)[0]).toBeCloseTo(0, 3);
});

test.each(['down', 'right'] as const)('a frame stays below the subtitle: %s', (direction) => {
  const node = (id: string, group?: string): PictureNode => ({
    id,
    kind: 'agent',
    label: id,
    detail: null,
    description: null,
    group,
  });
  const edge: PictureEdge = { from: 'a', to: 'b', kind: 'route', label: null, back: false };
  const svg = renderSvg(
    {
      title: 'flow',
      notation: 'flow',
      description: null,
      nodes: [node('a', 'sub'), node('b', 'sub')],
      edges: [edge],
      cycles: [],
    },
    direction,
  );
  const origin = Number(/<g transform="translate\(\S+ (\S+)\)">/.exec(svg)?.[1]);
  const top = Number(/<g class="group"><rect x="\S+" y="(\S+)"/.exec(svg)?.[1]);
  const subtitle = Number(/class="subtitle" x="\S+" y="(\S+)"/.exec(svg)?.[1]);
  expect(origin + top).toBeGreaterThanOrEqual(subtitle + 12);
});

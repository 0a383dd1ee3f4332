/**
 * A parsed YAML document as located data. Aliases are expanded (each use gets nodes of its own, placed where the anchor
 * stands) up to a cap, `<<` merges, and values that JSON cannot hold are reported. A cap that trips ends the conversion.
 */
import { isAlias, isMap, isScalar, isSeq, type Document, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { LIMITS } from '@sluice-internal/kernel/ir';
import type { Report } from './diagnostics.ts';
import { DEPTH_MAX, RESERVED_KEY, isPoisonValue, poisonAt, refuseHalfPair, refuseMany } from './located.ts';
import type { Entry, Located } from './located.ts';
import type { Range } from './range.ts';

const ALIASED_MAX = LIMITS.documentAliased;
const VALUES_MAX = LIMITS.documentValues;

interface State {
  readonly report: Report;
  readonly anchors: Map<string, Node>;
  /** Anchored nodes that are being expanded: meeting one again means that it contains itself. */
  readonly open: Set<Node>;
  aliased: number;
  values: number;
  insideAlias: number;
  stopped: boolean;
}

export function locateYaml(document: Document.Parsed, report: Report): Located | null {
  const state: State = {
    report,
    anchors: new Map(),
    open: new Set(),
    aliased: 0,
    values: 0,
    insideAlias: 0,
    stopped: false,
  };
  const located = convert(document.contents, state, 1, { start: 0, end: 0 });
  return state.stopped || isPoisonValue(located) ? null : located;
}

function convert(node: unknown, state: State, depth: number, near: Range): Located {
  const empty: Located = { kind: 'scalar', value: null, range: near };
  if (state.stopped || !isYamlNode(node)) return empty;
  if (depth > DEPTH_MAX) {
    return stop(state, () =>
      state.report.error(
        'too-deep',
        rangeOf(node, near),
        `this document is nested more than ${DEPTH_MAX} levels deep`,
        { help: 'Flatten it.' },
      ),
    );
  }
  if (++state.values > VALUES_MAX) return stop(state, () => refuseMany(rangeOf(node, near), state.report));
  if (state.insideAlias > 0 && ++state.aliased > ALIASED_MAX) {
    return stop(state, () =>
      state.report.error(
        'too-many-aliases',
        rangeOf(node, near),
        `the aliases of this document expand to more than ${ALIASED_MAX} values`,
        {
          help: 'Aliases of aliases multiply; write the values out, or repeat less.',
        },
      ),
    );
  }
  if (isAlias(node)) return convertAlias(node, state, depth, near);
  if (node.anchor !== undefined && state.insideAlias === 0) state.anchors.set(node.anchor, node);
  state.open.add(node);
  const located = convertPlain(node, state, depth, near);
  state.open.delete(node);
  return located;
}

function convertPlain(node: Node, state: State, depth: number, near: Range): Located {
  const range = rangeOf(node, near);
  if (isMap(node)) return { kind: 'map', entries: convertEntries(node, state, depth, range), range };
  if (isSeq(node))
    return { kind: 'list', items: node.items.map((item) => convert(item, state, depth + 1, range)), range };
  return isScalar(node) ? convertScalar(node, state, range) : poisonAt(range);
}

function convertAlias(node: Node & { source: string }, state: State, depth: number, near: Range): Located {
  const range = rangeOf(node, near);
  const target = state.anchors.get(node.source);
  if (target === undefined || state.open.has(target)) {
    const message =
      target === undefined
        ? `the alias \`*${node.source}\` has no anchor before it`
        : `the alias \`*${node.source}\` contains itself`;
    state.report.error('unknown-alias', range, message, {
      help:
        target === undefined
          ? `Mark the value to repeat with \`&${node.source}\`, above its first use.`
          : 'An anchor cannot be used inside its own value.',
    });
    return poisonAt(range);
  }
  state.insideAlias += 1;
  const located = convert(target, state, depth, range);
  state.insideAlias -= 1;
  return located;
}

function convertEntries(map: YAMLMap, state: State, depth: number, near: Range): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  const merged: Entry[] = [];
  for (const pair of map.items as readonly Pair[]) {
    const keyRange = rangeOf(pair.key, near);
    if (isScalar(pair.key) && pair.key.type === 'PLAIN' && pair.key.value === '<<') {
      merged.push(...mergedEntries(convert(pair.value, state, depth + 1, keyRange), keyRange, state));
      continue;
    }
    const key = keyText(pair.key, keyRange, state);
    const value = convert(pair.value, state, depth + 1, { start: keyRange.end, end: keyRange.end });
    if (key === null) continue;
    if (key === RESERVED_KEY) {
      entries.set(key, { key, keyRange, value: poisonAt(keyRange) });
      continue;
    }
    const first = entries.get(key);
    if (first === undefined) entries.set(key, { key, keyRange, value });
    else {
      state.report.error('duplicate-key', keyRange, `the key \`${key}\` is given twice in one map`, {
        help: 'Keep one of the two.',
        related: [{ message: 'the first one is here', at: first.keyRange }],
      });
    }
  }
  for (const entry of merged) if (!entries.has(entry.key)) entries.set(entry.key, entry);
  return entries;
}

function mergedEntries(value: Located, at: Range, state: State): readonly Entry[] {
  const maps = value.kind === 'list' ? value.items : [value];
  return maps.flatMap((map) => {
    if (map.kind === 'map') return [...map.entries.values()];
    if (!state.stopped && !isPoisonValue(map))
      state.report.error('wrong-type', at, '`<<` merges maps, but its value is not one', {
        help: 'Use `<<: *anchor`, or put the key in quotes.',
      });
    return [];
  });
}

function keyText(key: unknown, at: Range, state: State): string | null {
  const value = isAlias(key) ? state.anchors.get(key.source) : key;
  const text = isScalar(value) && value.value !== null && typeof value.value !== 'object' ? String(value.value) : null;
  if (text !== null && !text.isWellFormed()) {
    refuseHalfPair(at, state.report);
    return null;
  }
  if (text !== null && text !== RESERVED_KEY) return text;
  state.report.error('bad-key', at, text === null ? 'this key is not text' : '`__proto__` cannot be used as a key', {
    help:
      text === null
        ? `A key is a word or a quoted text.${isMap(value) ? ' Put a template in quotes: `"{{ … }}"`.' : ''}`
        : 'Rename the key.',
  });
  return text;
}

function convertScalar(node: Scalar, state: State, range: Range): Located {
  const { value } = node;
  if (typeof value === 'string' && !value.isWellFormed()) return refuseHalfPair(range, state.report);
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return { kind: 'scalar', value, range };
  if (typeof value === 'number' && Number.isFinite(value) && !losesDigits(value, node.source))
    return { kind: 'scalar', value, range };
  const written = node.source ?? String(value);
  const message =
    typeof value === 'number' && Number.isFinite(value)
      ? `the number ${written} is too large to be kept exactly`
      : `\`${written}\` has no counterpart in JSON`;
  state.report.error('not-json', range, message, { help: `Put it in quotes to keep it as text: "${written}".` });
  return poisonAt(range);
}

function losesDigits(value: number, source: string | undefined): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^[-+]?\d+$/.test(source ?? '');
}

function isYamlNode(node: unknown): node is Node {
  return isMap(node) || isSeq(node) || isScalar(node) || isAlias(node);
}

function rangeOf(node: unknown, near: Range): Range {
  const range = isYamlNode(node) ? node.range : undefined;
  return range ? { start: range[0], end: range[1] } : near;
}

function stop(state: State, report: () => void): Located {
  if (!state.stopped) report();
  state.stopped = true;
  return { kind: 'scalar', value: null, range: { start: 0, end: 0 } };
}

/**
 * Checks the expressions and templates of a flow and turns them into expressions over slots. Every problem is reported at
 * its own characters. An expression with a problem gives null.
 */
import { TYPE_NAMES, isRecord, parseExpr, pathOf } from '@sluice-internal/kernel/expr';
import type { Json, Kind } from '@sluice-internal/kernel/expr';
import type { Expr } from '@sluice-internal/kernel/ir';
import { rangeWithin } from '@sluice-internal/compile/source';
import type { Located, LocatedScalar, Range, Report } from '@sluice-internal/compile/source';
import {
  checkExpression,
  expressionsIn,
  parseTemplate,
  readsOf,
  reportProblems,
  rewriteNames,
  stripBraces,
  templateToExpr,
} from '@sluice-internal/compile/expressions';
import type { Path, Problem } from '@sluice-internal/compile/expressions';
import type { FlowGraph } from './graph.ts';
import type { Meaning, Names, Recent, Recents } from './names.ts';
import { misspeltIn } from './misspelt-guards.ts';
import { SLOT, type Slots } from './slots.ts';

interface Checked {
  readonly source: Expr;
  readonly kind: string;
  readonly constant?: boolean;
}

export interface Expressions {
  /** A guard or the expression of a decision. With `leaving`, the node itself has already run. */
  expression(node: string, located: Located | undefined, leaving: boolean): Checked | null;
  /** A template, or any structure of them, as one expression. */
  template(node: string, located: Located | undefined, value: Json): Expr;
  /** The kind of value that an expression in a template gives, as far as it is known. */
  kind(node: string, expr: string): Kind;
  /** The paths of those templates in a structure that only read a value. */
  reads(node: string, value: Json): readonly (readonly string[])[];
  /** The agents whose replies a guard reads, or the expression of a decision. With `leaving`, the node itself has already run. */
  agentsRead(node: string, guard: string, leaving: boolean): readonly string[];
  /** The values that the names in the templates of a structure stand for. */
  meanings(node: string, value: Json): readonly Found[];
  /** The problem if the type of the expression is known and can never equal `wanted`; null otherwise. */
  matches(node: string, expr: string, wanted: string): Problem | null;
  /** True if an expression reads a field of what the node, or the latest agent, replied. */
  readsField(node: string, agent: string): boolean;
  /**
   * The fields of the reply that decide a route or enter an argument. None if a guard reads the reply as a whole too: the author then
   * expects texts.
   */
  decidingFields(node: string, agent: string): readonly string[];
  /** True if a guard reads the reply as a whole. */
  readsWhole(node: string, agent: string): boolean;
  readonly uses: { readonly slots: ReadonlySet<string>; readonly bare: boolean };
}

interface Found {
  readonly read: Path;
  readonly meaning: Meaning;
}

interface Parts {
  readonly names: Names;
  readonly graph: FlowGraph;
  readonly recents: Recents;
  readonly slots: Slots;
  readonly report: Report;
  /** The agents by the ids of their nodes. */
  readonly agents: ReadonlyMap<string, string>;
  /** The nodes whose templates are only words or results. */
  readonly words: ReadonlySet<string>;
}

export function createExpressions(parts: Parts): Expressions {
  const { slots, recents, report } = parts;
  const checker: Checker = {
    ...parts,
    uses: { slots: new Set(), bare: false, fieldsOf: new Set(), deciding: new Map(), wholes: new Set() },
  };
  return {
    expression(node, located, leaving) {
      if (located?.kind !== 'scalar') return null;
      return check(checker, node, located, stripBraces(String(located.value)), 0, { leaving, guard: true });
    },
    template(node, located, value) {
      checkTemplates(checker, node, located);
      if (report.failed()) return 'null';
      return templateToExpr(value, (expr, inText) => {
        const read = rewritten(checker, node, expr);
        return inText && isReply(expr, parts.agents) ? replyText(read) : read;
      });
    },
    kind(node, expr) {
      const text = slots.readable(expr);
      const recent = recents.before(node);
      const types = typesOf(checker, meaningsOf(checker, node, text, recent, false), recent);
      const result = checkExpression(text, { types });
      return result.ok ? result.type : 'any';
    },
    reads(node, value) {
      const paths = new Map<string, readonly string[]>();
      for (const expr of embedded(value)) {
        const path = pathOf(rewritten(checker, node, expr));
        if (path !== null) paths.set(JSON.stringify(path), path);
      }
      return [...paths.values()];
    },
    agentsRead(node, guard, leaving) {
      const recent = leaving ? recents.after(node) : recents.before(node);
      const found = meaningsOf(checker, node, slots.readable(stripBraces(guard)), recent, true);
      return found.flatMap(({ meaning }) => {
        if (meaning.is === 'node') return parts.agents.get(meaning.id) ?? [];
        return meaning.is === 'bare' || meaning.is === 'latest' ? [...recent.agents] : [];
      });
    },
    meanings: (node, value) =>
      embedded(value).flatMap((expr) => meaningsOf(checker, node, slots.readable(expr), recents.before(node), false)),
    matches(node, expr, wanted) {
      const text = slots.readable(stripBraces(expr));
      const recent = recents.before(node);
      const types = typesOf(checker, meaningsOf(checker, node, text, recent, true), recent);
      const result = checkExpression(`(${text}\n) == ${JSON.stringify(wanted)}`, { types });
      return result.ok ? (result.warnings[0] ?? null) : null;
    },
    ...repliesRead(checker),
    uses: checker.uses,
  };
}

function repliesRead({
  uses: { fieldsOf, deciding, wholes },
}: Checker): Pick<Expressions, 'readsField' | 'readsWhole' | 'decidingFields'> {
  const among = (names: ReadonlySet<string>, node: string, agent: string): boolean =>
    names.has(`node ${node}`) || names.has(`agent ${agent}`);
  return {
    readsField: (node, agent) => among(fieldsOf, node, agent),
    readsWhole: (node, agent) => among(wholes, node, agent),
    decidingFields(node, agent) {
      if (among(wholes, node, agent)) return [];
      const fields = [`node ${node}`, `agent ${agent}`].flatMap((name) => [...(deciding.get(name) ?? [])]);
      return [...new Set(fields)].sort();
    },
  };
}

interface Checker extends Parts {
  /** Slots and bare names that the checked expressions read. */
  readonly uses: {
    readonly slots: Set<string>;
    bare: boolean;
    /** `node ID` or `agent ID`: the nodes and agents whose output is read by field. */
    readonly fieldsOf: Set<string>;
    /** The fields among them that decide a route or enter an argument. */
    readonly deciding: Map<string, Set<string>>;
    /** Those that a guard reads as a whole. */
    readonly wholes: Set<string>;
  };
}

/** `offset` is the position of the expression in the text of `located`. */
function check(
  checker: Checker,
  node: string,
  located: LocatedScalar,
  written: string,
  offset: number,
  { leaving, guard }: { readonly leaving: boolean; readonly guard: boolean },
): Checked | null {
  const { recents, slots, report } = checker;
  const text = slots.readable(written);
  const recent = leaving ? recents.after(node) : recents.before(node);
  const found = meaningsOf(checker, node, text, recent, guard);
  const result = checkExpression(text, { types: typesOf(checker, found, recent), nodes: slots.odd, guard });
  const misread = result.ok ? [] : result.problems.filter(({ code }) => code === 'syntax');
  for (const each of found) {
    if (misread.some(({ start, end }) => start <= each.read.start && each.read.end <= end)) continue;
    const at = rangeWithin(report.source, located, offset + each.read.start, offset + each.read.end);
    reportName(checker, node, each, at, leaving);
  }
  reportProblems(report, located, result.ok ? result.warnings : result.problems, offset);
  if (guard) reportProblems(report, located, misspelt(checker, text, found, recent), offset);
  if (!result.ok) return null;
  if (found.some(({ meaning }) => meaning.is === 'nothing')) return null;
  note(checker, found, recent);
  if (guard || !checker.words.has(node)) noteDeciding(checker, found, recent, guard);
  const source = withSlots(text, found, slots);
  return { source, kind: result.type, ...(result.constant === undefined ? {} : { constant: result.constant }) };
}

function reportName(checker: Checker, node: string, { read, meaning }: Found, at: Range, leaving: boolean): void {
  const { report } = checker;
  if (meaning.is === 'nothing') report.error('unknown-name', at, meaning.message, { help: meaning.help });
  else if ((meaning.is === 'context' || meaning.is === 'bare') && meaning.warning !== undefined)
    report.warning('unknown-name', at, meaning.warning, { help: meaning.help });
  else warnEarly(checker, node, read, meaning, at, leaving);
}

/** Names that mean a text or a constant. A name of an error or a warning has one already. */
function misspelt({ names }: Checker, text: string, found: readonly Found[], recent: Recent): readonly Problem[] {
  const fields = new Set(
    found.flatMap(({ read, meaning }) =>
      meaning.is === 'bare' && meaning.warning === undefined && names.schema(read, meaning, recent) === undefined
        ? (read.path[0] ?? [])
        : [],
    ),
  );
  return fields.size === 0 ? [] : misspeltIn(text, (name) => fields.has(name));
}

function note({ uses, slots }: Checker, found: readonly Found[], recent: Recent): void {
  for (const { read, meaning } of found) {
    if (meaning.is === 'node') {
      uses.slots.add(slots.of(meaning.id));
      if (read.path[1] === 'output' && read.path.length > 2) uses.fieldsOf.add(`node ${meaning.id}`);
    } else if (meaning.is === 'item') uses.slots.add(meaning.slot);
    else if (meaning.is === 'context') uses.slots.add(meaning.slot ?? read.path[0] ?? '');
    else {
      uses.bare = true;
      for (const agent of recent.agents) uses.fieldsOf.add(`agent ${agent}`);
    }
  }
}

function noteDeciding({ uses }: Checker, found: readonly Found[], recent: Recent, guard: boolean): void {
  for (const { read, meaning } of found) {
    if (meaning.is !== 'node' && meaning.is !== 'latest' && meaning.is !== 'bare') continue;
    if (meaning.is === 'node' && read.path[1] !== 'output') continue;
    const field = { node: read.path[2], latest: read.path[1], bare: read.path[0] }[meaning.is];
    const names = meaning.is === 'node' ? [`node ${meaning.id}`] : [...recent.agents].map((agent) => `agent ${agent}`);
    for (const name of names)
      if (field !== undefined) uses.deciding.set(name, (uses.deciding.get(name) ?? new Set()).add(field));
      else if (guard) uses.wholes.add(name);
  }
}

function checkTemplates(checker: Checker, node: string, located: Located | undefined): void {
  if (located?.kind === 'list') for (const item of located.items) checkTemplates(checker, node, item);
  else if (located?.kind === 'map')
    for (const { value } of located.entries.values()) checkTemplates(checker, node, value);
  else if (located?.kind === 'scalar')
    for (const { expr, start } of expressionsIn(checker.report, located))
      check(checker, node, located, expr, start, { leaving: false, guard: false });
}

function meaningsOf({ names }: Parts, node: string, text: string, recent: Recent, guard: boolean): readonly Found[] {
  try {
    const reads = readsOf(parseExpr(text), variablesIn(text));
    return reads.map((read) => ({ read, meaning: names.meaning(read, recent, guard, node) }));
  } catch {
    return [];
  }
}

function typesOf({ names }: Parts, found: readonly Found[], recent: Recent): { [name: string]: Json } {
  const types: { [name: string]: Json } = {};
  for (const { read, meaning } of found) {
    const [root = ''] = read.path;
    const isKnown = TYPE_NAMES.has(root) || meaning.is === 'context' || meaning.is === 'item';
    const schema = names.schema(read, meaning, recent) ?? (isKnown ? true : undefined);
    if (schema !== undefined) types[root] = merged(types[root], schema);
  }
  // A name that is a node in one read and a field in another has no single type.
  for (const { read, meaning } of found)
    if (found.some((other) => other.read.path[0] === read.path[0] && other.meaning.is !== meaning.is))
      types[read.path[0] ?? ''] = true;
  return types;
}

function warnEarly(
  { names, graph, report }: Parts,
  node: string,
  read: Path,
  meaning: Meaning,
  at: Range,
  leaving: boolean,
): void {
  const source = names.source(read, meaning);
  if (source !== null && !(leaving && source === node) && !graph.precedes(source, node, leaving)) {
    report.warning('not-yet-run', at, `\`${source}\` cannot have run before \`${node}\`, so this is always empty`, {
      help: 'Read a node that comes before, or change the order.',
    });
  } else if (read.path[0] === 'error' && !graph.afterError(node, leaving)) {
    report.warning('not-yet-run', at, `no error route leads to \`${node}\`, so \`error\` is always empty here`, {
      help: 'Lead an `on_error` route to this node, or remove `error`.',
    });
  }
}

function rewritten(checker: Checker, node: string, expr: string): Expr {
  const text = checker.slots.readable(expr);
  return withSlots(text, meaningsOf(checker, node, text, checker.recents.before(node), false), checker.slots);
}

/** The whole output of an agent. */
function isReply(expr: string, agents: Parts['agents']): boolean {
  return expr.endsWith('.output') && agents.has(expr.slice(0, -'.output'.length));
}

/** In a text, an output `{ "reply": "…" }` stands for its reply. `| json` writes the whole object. */
function replyText(output: Expr): Expr {
  return `cel.bind(o, ${output}, type(o) == map && type(o.reply) == string ? o.reply : o)`;
}

/** Text with templates in it is text already. A value that is one template keeps its type, so it is turned into text. */
export function asText(value: Json, expr: Expr): Expr {
  if (typeof value !== 'string') return `text(${expr})`;
  const { parts } = parseTemplate(value);
  return parts.length === 1 && parts[0] !== undefined && 'expr' in parts[0] ? `text(${expr})` : expr;
}

function embedded(value: Json): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(embedded);
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(embedded);
  return typeof value === 'string'
    ? parseTemplate(value).parts.flatMap((part) => ('expr' in part ? part.expr : []))
    : [];
}

/** Nodes are in their slots. Fields of the latest agent's output, which expressions read by name alone, are in the agent slot. */
function withSlots(text: string, found: readonly Found[], slots: Slots): Expr {
  const roots = new Map<string, string>();
  for (const { read, meaning } of found) {
    const key = JSON.stringify(read.path);
    if (meaning.is === 'latest') roots.set(key, SLOT.agent);
    if (meaning.is === 'bare') roots.set(key, `${SLOT.agent}.${read.path[0] ?? ''}`);
    if (meaning.is === 'node') roots.set(key, slots.of(meaning.id));
    if ('slot' in meaning && meaning.slot !== undefined) roots.set(key, meaning.slot);
  }
  const resolve = (path: string[]): string | null => roots.get(JSON.stringify(path)) ?? null;
  return rewriteNames(text, resolve, variablesIn(text));
}

/** In an expression without `type(…)`, names such as `type` and `list` are fields and not types. */
function variablesIn(text: string): ReadonlySet<string> | undefined {
  return /\btype\s*\(/.test(text) ? undefined : TYPE_NAMES;
}

/** Joins the fields that two reads of one root know, such as two approvals. */
function merged(known: Json | undefined, more: Json): Json {
  if (!isRecord(known) || !isRecord(more) || !isRecord(known['properties']) || !isRecord(more['properties']))
    return more;
  return { ...known, ...more, properties: { ...known['properties'], ...more['properties'] } };
}

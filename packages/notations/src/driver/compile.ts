/**
 * Compiles a text or an object to a verified, hashed, frozen flow, or returns every diagnostic. Never throws for the content
 * of a document.
 */
import { LIMITS } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, FlowBody, Retention } from '@sluice-internal/kernel/ir';
import { TooManyNodes } from '@sluice-internal/compile/lower';
import {
  checkNarrower,
  definitionsOf,
  innerBudgets,
  readDocument,
  readPeople,
} from '@sluice-internal/compile/document';
import type { McpServers, PriceLookup, ReadDocument, Sections } from '@sluice-internal/compile/document';
import {
  checkBoundaries,
  checkCompensations,
  checkPolicies,
  checkPrices,
  checkRules,
  readPolicies,
  warnOfTier,
} from '@sluice-internal/compile/rules';
import type { Notation, PolicyOptions } from '@sluice-internal/compile/rules';
import { boundsOf, seal, verify } from '@sluice-internal/compile/prove';
import type { Bounds, Sha256 } from '@sluice-internal/compile/prove';
import { HALF_PAIR_HELP, START, locate, parseSource } from '@sluice-internal/compile/source';
import type { Diagnostic, Located, Report } from '@sluice-internal/compile/source';
import type { Picture } from '@sluice-internal/compile/picture';
import type { McpLock } from '@sluice-internal/kernel/catalog';
import { warnAboutBudgets, warnAboutCost, warnAboutCounts } from './budgets.ts';
import { refuseOtherKind } from './file-kind.ts';
import { NOTATIONS } from './registry.ts';

export interface CompileOptions extends PolicyOptions {
  /** The name of the document in diagnostics. */
  readonly file?: string;
  readonly hash: Sha256;
  /** The price of a model that the document gives none for. */
  readonly priceOf?: PriceLookup;
  /** The model of agents that name none: an alias or `provider/model`. */
  readonly model?: string;
  /** The tools of the MCP servers. */
  readonly mcpLock?: McpLock;
}

/**
 * The result of `compile`: the flow, its certificate, and every diagnostic.
 * @example
 * const result: CompileResult = compile('flow: { id: x, entry: a, nodes: [{ id: a, type: terminal }] }');
 * for (const { line, message } of result.diagnostics) console.error(line, message);
 */
export interface CompileResult {
  readonly ok: boolean;
  /** The name of the notation; null if the document has none. */
  readonly notation: string | null;
  readonly diagnostics: readonly Diagnostic[];
  readonly flow?: CompiledFlow;
  readonly bounds?: Bounds;
  /** The authored graph, as far as it could be read. */
  readonly graph?: Picture;
  /** The MCP servers that the document declares. */
  readonly servers?: McpServers;
}

export function compile(source: string | object, options: CompileOptions): CompileResult {
  const parsed =
    typeof source === 'string' ? parseSource(source, options.file ?? '<text>') : locate(source, options.file);
  const { report } = parsed;
  const isDocument = parsed.doc !== null && !refuseOtherKind(parsed.doc, 'document', report);
  const adapted = isDocument ? adaptAll(parsed.doc, report) : null;
  const document = adapted === null ? null : readDocument(adapted, NOTATIONS, report);
  const notation = NOTATIONS.find(({ name }) => name === document?.notation);
  if (document === null || notation === undefined) return { ok: false, notation: null, diagnostics: report.list() };
  const compiled = compileWithin(document, notation, report, options);
  const { servers = document.sections.value.mcp } = compiled;
  return { ...compiled, notation: notation.name, diagnostics: report.list(), servers };
}

/** `retain` replaces the number of runs that the notation keeps by itself. */
function withRetention(body: Omit<FlowBody, 'least'>, retain: Sections['retain']): Omit<FlowBody, 'least'> {
  if (retain === undefined) return body;
  const { keepEnded: _, ...view } = body.view ?? {};
  return { ...body, view: { ...view, retain: JSON.parse(JSON.stringify(retain)) as Retention } };
}

function adaptAll(doc: Located, report: Report): Located {
  return NOTATIONS.reduce((adapted, { adapt }) => adapt?.(adapted, report) ?? adapted, doc);
}

type Compiled = Omit<CompileResult, 'notation' | 'diagnostics'>;

function checkRetain({ sections }: ReadDocument, report: Report): void {
  const { retain } = sections.value;
  if (retain === undefined || retain.runs !== undefined || retain.days !== undefined || sections.damaged('retain'))
    return;
  report.error('missing-field', sections.key('retain'), '`retain` needs `runs` or `days`', {
    help: 'Write `retain: { days: 30 }`.',
  });
}

function compileWithin(document: ReadDocument, notation: Notation, report: Report, options: CompileOptions): Compiled {
  try {
    return compileDocument(document, notation, report, options);
  } catch (error) {
    if (!(error instanceof TooManyNodes)) throw error;
    report.error('too-many-nodes', document.at, `the graph of this document has more than ${LIMITS.graphNodes} nodes`, {
      help: 'Split the work into several documents, or use a loop or a `map` instead of repeated parts.',
    });
    return { ok: false };
  }
}

function compileDocument(
  document: ReadDocument,
  notation: Notation,
  report: Report,
  options: CompileOptions,
): Compiled {
  const policies = readPolicies(document, report, options);
  const people = readPeople(document, report, options.readText);
  checkRules(document, { ...options, people }, report);
  checkRetain(document, report);
  if (document.sections.value.flows !== undefined && notation.name !== 'flow')
    report.error('unknown-key', document.sections.key('flows'), '`flows` has no effect in this notation', {
      help: 'Only `flow` nodes of a `flow:` run them.',
    });
  checkLimits(document, notation, report);
  const definitions = definitionsOf(document.sections.value, {
    ...{ ...options, policies, people, protections: notation.protections },
    innerBudgets: innerBudgets(document),
  });
  const { lowered, picture, servers, known, boundary, excess = [] } = notation.lower(document, definitions, report);
  checkBoundaries(document, report, { mcpLock: options.mcpLock, ...known });
  const outer = boundary === undefined ? definitions : { ...definitions, boundary };
  checkNarrower({ sections: document.sections, own: outer, outer, report });
  const graph = { ...(picture === null ? {} : { graph: picture }), servers };
  if (lowered === null || report.failed()) return { ok: false, ...graph };
  const proved = verify(lowered, report);
  if (lowered.unwatched === true) warnAboutMonitor(document, report);
  checkPrices(lowered, document, report);
  checkCompensations(lowered, document, report);
  checkPolicies(policies, lowered.body, document, report, options);
  if (report.failed()) return { ok: false, ...graph };
  const { bounds, least } = boundsOf(proved);
  warnAboutCost(bounds, lowered.body, document.at, report);
  if (notation.boundedByTurns !== true) warnAboutCounts(bounds, document.at, report);
  warnAboutBudgets(bounds, lowered.body, document, report);
  warnOfTier(excess, lowered, document, report);
  try {
    const body = withRetention(lowered.body, document.sections.value.retain);
    return { ok: true, flow: seal({ ...body, least }, options.hash), bounds, ...graph };
  } catch {
    // Texts of the document were checked as they were read.
    report.error('not-json', START, 'a file that this document uses contains half of a surrogate pair', {
      help: HALF_PAIR_HELP,
    });
    return { ok: false, ...graph };
  }
}

/** Warns about a limit of something that the notation does not have. A table that it does not use is an error. */
function checkLimits({ sections }: ReadDocument, { limits = [] }: Notation, report: Report): void {
  const { protections = {} } = sections.value;
  for (const key of ['depth', 'spawn'] as const) {
    if (protections[key] === undefined || protections[key] === false || limits.includes(key)) continue;
    report.warning('unused-field', sections.at('protections', key), `\`protections.${key}\` limits nothing here`, {
      help: UNLIMITED[key],
    });
  }
  if (protections.on_failure !== undefined && !limits.includes('on_failure'))
    report.error(
      'bad-value',
      sections.key('protections', 'on_failure'),
      '`protections.on_failure` has no effect in this notation',
      { help: 'Only `staged` decides by the table. Here error routes, `retry` and error modes decide. Remove it.' },
    );
}

const UNLIMITED = {
  depth: 'This notation has no teams, sub-flows or sub-graphs inside each other. Remove it.',
  spawn:
    'No model starts tasks in this notation; items of a `map` are not counted. Remove it, or set `budgets.model_calls`.',
} as const;

/** Warns about a declared monitor in a flow without a cycle of agents. */
function warnAboutMonitor({ sections }: ReadDocument, report: Report): void {
  const { protections = {} } = sections.value;
  for (const key of ['hops', 'deadlock'] as const)
    if (protections[key] !== undefined && protections[key] !== false)
      report.warning('unused-field', sections.at('protections', key), `\`protections.${key}\` watches nothing here`, {
        help: 'No agent can come back to another one: the monitor watches cycles of several agents. Remove it.',
      });
}

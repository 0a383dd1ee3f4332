/** Checks the names, the reachability of every node, and the cap of every cycle. */
import { didYouMean } from '@sluice-internal/compile/source';
import type { Path, Report } from '@sluice-internal/compile/source';
import { listed, toolNames } from '@sluice-internal/compile/document';
import type { ReadDocument } from '@sluice-internal/compile/document';
import { regexProblem } from '@sluice-internal/compile/expressions';
import { writtenGraph, type WrittenGraph } from './edges.ts';
import type { FlowGraph } from './graph.ts';
import { END, RESERVED, type Flow, type FlowNode } from './model.ts';
import { nodeTypeOf } from './nodes/registry.ts';

const ITERATIONS_HUGE = 100_000;

export function checkFlow(flow: Flow, graph: FlowGraph, document: ReadDocument, report: Report): void {
  const written = writtenGraph(document.body);
  const tools = toolNames(document.sections.value, document.names);
  for (const node of flow.nodes.values()) {
    nodeTypeOf(node.value.type).check?.(node, { flow, graph, document, tools, report });
    checkErrorRoutes(node, report);
    checkBounds(node, report);
  }
  checkTargets(flow, written, report);
  checkEntry(flow, report);
  const reached = written.reachedFrom(flow.value.entry);
  if (reached !== null) checkReached(flow, written, reached, report);
  checkCap(flow, written, reached, report);
}

function checkTargets(flow: Flow, { nodes }: WrittenGraph, report: Report): void {
  for (const { id, edges } of nodes.values()) {
    for (const { to, at } of edges) {
      if (to === END || flow.declared.has(to)) continue;
      report.error('unknown-target', at, `unknown target '${to}' on flow node '${id}'`, {
        help: didYouMean(to, [...flow.declared.all, END], 'Declare that node, or write `end` to end the path.'),
      });
    }
  }
}

function checkErrorRoutes(node: FlowNode, report: Report): void {
  const { on_error: clauses } = node.value;
  for (const [index, { match, default: all }] of clauses.entries()) {
    if (all === true && index < clauses.length - 1) {
      report.error(
        'default-not-last',
        node.at('on_error', index, 'default'),
        `the error route with \`default: true\` on flow node '${node.id}' must come last`,
        {
          help: 'Move it to the end of `on_error`.',
        },
      );
    }
    if (typeof match === 'string' && match !== '') checkPattern(node, ['on_error', index, 'match'], match, report);
  }
}

function checkPattern(node: FlowNode, path: Path, pattern: string, report: Report): void {
  const problem = regexProblem(pattern);
  if (problem !== null)
    report.error('bad-regex', node.at(...path), `\`match\` ${problem.message}`, { help: problem.help });
}

function checkBounds(node: FlowNode, report: Report): void {
  const { on_exhausted: over, max_visits: most, retry } = node.value;
  if (over !== undefined && most === undefined && !node.poisoned('max_visits'))
    report.warning('bad-value', node.at('on_exhausted'), '`on_exhausted` has no effect without `max_visits`', {
      help: 'Add `max_visits`, or remove it.',
    });
  for (const key of node.facts.idle ?? [])
    if (node.value[key] !== undefined)
      report.warning('no-effect', node.at(key), `\`${key}\` has no effect on a node of type \`${node.value.type}\``, {
        help: 'Remove it.',
      });
  if (retry?.match !== undefined) checkPattern(node, ['retry', 'match'], retry.match, report);
}

function checkEntry(flow: Flow, report: Report): void {
  const { entry } = flow.value;
  if (flow.declared.has(entry)) return;
  report.error('unknown-entry', flow.at('entry'), `the entry '${entry}' is not a declared flow node`, {
    help: didYouMean(entry, flow.declared.all, `Declared nodes: ${listed([...flow.declared.all])}.`),
  });
}

function checkReached(flow: Flow, { nodes }: WrittenGraph, reached: ReadonlySet<string>, report: Report): void {
  for (const { id, at } of nodes.values()) {
    if (reached.has(id) || Object.hasOwn(RESERVED, id)) continue;
    report.error('unreachable-node', at, `flow node '${id}' is not reachable from entry '${flow.value.entry}'`, {
      help: 'Lead a route there, or remove the node.',
    });
  }
}

/** One mistake, however many cycles there are: the cap is one for the whole flow. */
function checkCap(flow: Flow, written: WrittenGraph, reached: ReadonlySet<string> | null, report: Report): void {
  const { max_iterations: cap } = flow.value;
  if (cap > ITERATIONS_HUGE) {
    report.warning(
      'huge-bound',
      flow.at('max_iterations'),
      `\`max_iterations\` allows ${cap} visits, which is too many to protect a run`,
      { help: 'Lower it to a little more than a successful run needs.' },
    );
  }
  const [cycle] = written.unbounded.filter((members) => members.some((id) => reached?.has(id) ?? true));
  if (cap > 0 || cycle === undefined || flow.poisoned('max_iterations')) return;
  const inside = new Set(cycle);
  const order = new Map([...written.nodes.keys()].map((id, index) => [id, index]));
  const back = cycle
    .flatMap((id) => written.nodes.get(id)?.edges ?? [])
    .find(({ from, to }) => inside.has(to) && (order.get(to) ?? 0) <= (order.get(from) ?? 0));
  const place =
    back === undefined || flow.located('max_iterations') !== undefined ? flow.at('max_iterations') : back.at;
  report.error(
    'uncapped-cycle',
    place,
    `flow has cycles but max_iterations=0: ${listed(cycle)} can be visited without end`,
    {
      help: 'Set `max_iterations` to the most node visits of a run, or `max_visits` on a node of the cycle.',
    },
  );
}

/** What a flow refers to exists, every node is reached, and every cycle has a cap: the page's guarantees, in the page's words. */
import { BUILTIN_TOOL_NAMES } from '../../../catalog/builtin-tools.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import { listed } from '../../document/shape/fault-words.ts';
import { nearest } from '../../diagnose/nearest.ts';
import { patternProblem } from '../../../expr/regex.ts';
import { toolNames } from '../../document/names-check.ts';
import { END, RESERVED } from './read.ts';
import type { Flow, FlowNode } from './read.ts';
import type { Ways } from './ways.ts';

const ITERATIONS_HUGE = 100_000;

export function checkFlow(flow: Flow, ways: Ways, document: ReadDocument, report: Report): void {
  const { sections, names } = document;
  const { agents } = names;
  const tools = toolNames(sections.value, names, BUILTIN_TOOL_NAMES);
  for (const node of flow.nodes.values()) {
    const { id, value } = node;
    if (value.type === 'agent' && !agents.has(value.agent)) {
      const help = suggestion(
        value.agent,
        agents.all,
        agents.all.size === 0 ? 'Declare it under `agents`.' : `Declared agents: ${listed([...agents.all])}.`,
      );
      report.error('unknown-agent', node.at('agent'), `unknown agent '${value.agent}' on flow node '${id}'`, { help });
    }
    if (value.type === 'tool' && !tools.has(value.tool)) {
      const near = tools.near(value.tool);
      const help =
        near === undefined
          ? 'Declare it under `tools`, or the server that has it under `mcp`.'
          : `Did you mean \`${near}\`?`;
      report.error('unknown-tool', node.at('tool'), `unknown tool '${value.tool}' on flow node '${id}'`, { help });
    }
    if (value.type === 'decision' && value.routes.length === 0 && !node.poisoned('routes')) {
      report.warning(
        'no-way-out',
        node.at('id'),
        `flow node '${id}' decides between no routes, so the path ends there`,
        {
          help: 'Give it routes, or make it a `terminal`.',
        },
      );
    }
    checkErrorRoutes(node, report);
    checkParallel(node, report);
    checkApproval(node, report);
  }
  checkTargets(flow, ways, report);
  checkEntry(flow, report);
  const reached = ways.reachedFrom(flow.value.entry);
  if (reached !== null) checkReached(flow, ways, reached, report);
  checkCap(flow, ways, reached, report);
}

function checkTargets(flow: Flow, { nodes }: Ways, report: Report): void {
  for (const { id, ways } of nodes.values()) {
    for (const { to, at } of ways) {
      if (to === END || flow.declared.has(to)) continue;
      report.error('unknown-target', at, `unknown target '${to}' on flow node '${id}'`, {
        help: suggestion(to, [...flow.declared.all, END], 'Declare that node, or write `end` to end the path.'),
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
    const problem = typeof match === 'string' && match !== '' ? patternProblem(match) : null;
    if (problem !== null)
      report.error(
        'bad-regex',
        node.at('on_error', index, 'match'),
        `\`match\` is not a pattern that can be used: ${problem.replace(/^.*?: /, '')}`,
        { help: 'Patterns are RE2: no look-around, no back-references.' },
      );
  }
}

function checkParallel(node: FlowNode, report: Report): void {
  if (node.value.type !== 'parallel') return;
  const { branches, join } = node.value;
  for (const [index, { to }] of branches.entries()) {
    if (to === END)
      report.error(
        'branch-to-end',
        node.at('branches', index, 'to'),
        `a branch of flow node '${node.id}' leads straight to \`end\``,
        { help: 'Lead it to a node, or remove it.' },
      );
  }
  if (join === undefined) return;
  const { type, count } = join;
  if (type === 'count' && count < 1 && !node.poisoned('join', 'count')) {
    report.error(
      'count-without-number',
      node.at('join', node.located('join', 'count') === undefined ? 'type' : 'count'),
      `join.type='count' requires join.count >= 1 on flow node '${node.id}'`,
      {
        help: `Write \`count\`, from 1 to ${branches.length}.`,
      },
    );
  }
  if (type === 'count' && count > branches.length && !node.poisoned('branches')) {
    report.error(
      'count-above-branches',
      node.at('join', 'count'),
      `flow node '${node.id}' waits for ${count} branches, but has only ${branches.length}`,
    );
  }
  if (type !== 'count' && count > 0 && !node.poisoned('join', 'type')) {
    report.warning('bad-value', node.at('join', 'count'), `\`count\` has no effect where \`type\` is \`${type}\``, {
      help: 'Write `type: count`, or remove it.',
    });
  }
}

function checkApproval(node: FlowNode, report: Report): void {
  if (node.value.type !== 'approval') return;
  const { choices, timeout, on_timeout: expiry } = node.value;
  for (const [index, choice] of choices.entries()) {
    if (choices.indexOf(choice) < index)
      report.error(
        'bad-value',
        node.at('choices', index),
        `the choice \`${choice}\` is listed twice on flow node '${node.id}'`,
      );
  }
  if (expiry === undefined || node.poisoned('choices')) return;
  if (!choices.includes(expiry)) {
    report.error(
      'unknown-choice',
      node.at('on_timeout'),
      `\`on_timeout\` names \`${expiry}\`, which is no choice of flow node '${node.id}'`,
      { help: suggestion(expiry, choices, `Choices: ${listed(choices)}.`) },
    );
  } else if (timeout === undefined && !node.poisoned('timeout')) {
    report.warning('bad-value', node.at('on_timeout'), '`on_timeout` has no effect without `timeout`', {
      help: 'Add `timeout`, in seconds.',
    });
  }
}

function checkEntry(flow: Flow, report: Report): void {
  const { entry } = flow.value;
  if (flow.declared.has(entry)) return;
  report.error('unknown-entry', flow.at('entry'), `the entry '${entry}' is not a declared flow node`, {
    help: suggestion(entry, flow.declared.all, `Declared nodes: ${listed([...flow.declared.all])}.`),
  });
}

function checkReached(flow: Flow, { nodes }: Ways, reached: ReadonlySet<string>, report: Report): void {
  for (const { id, at } of nodes.values()) {
    if (reached.has(id) || Object.hasOwn(RESERVED, id)) continue;
    report.error('unreachable-node', at, `flow node '${id}' is not reachable from entry '${flow.value.entry}'`, {
      help: 'Lead a route there, or remove the node.',
    });
  }
}

/** One mistake, however many cycles there are: the cap is one for the whole flow. */
function checkCap(flow: Flow, ways: Ways, reached: ReadonlySet<string> | null, report: Report): void {
  const { max_iterations: cap } = flow.value;
  if (cap > ITERATIONS_HUGE) {
    report.warning(
      'huge-bound',
      flow.at('max_iterations'),
      `\`max_iterations\` allows ${cap} visits, which hardly bounds anything`,
      { help: 'Lower it to a little more than a good run needs.' },
    );
  }
  const [cycle] = ways.cycles.filter((members) => members.some((id) => reached?.has(id) ?? true));
  if (cap > 0 || cycle === undefined || flow.poisoned('max_iterations')) return;
  const inside = new Set(cycle);
  const order = new Map([...ways.nodes.keys()].map((id, index) => [id, index]));
  const back = cycle
    .flatMap((id) => ways.nodes.get(id)?.ways ?? [])
    .find(({ from, to }) => inside.has(to) && (order.get(to) ?? 0) <= (order.get(from) ?? 0));
  const place =
    back === undefined || flow.located('max_iterations') !== undefined ? flow.at('max_iterations') : back.at;
  report.error(
    'uncapped-cycle',
    place,
    `flow has cycles but max_iterations=0: ${listed(cycle)} can be visited without end`,
    {
      help: 'Set `max_iterations` to the most node visits that a run may take.',
    },
  );
}

function suggestion(word: string, known: Iterable<string>, otherwise: string): string {
  const near = nearest(word, known);
  return near === undefined ? otherwise : `Did you mean \`${near}\`?`;
}

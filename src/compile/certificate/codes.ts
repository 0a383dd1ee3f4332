/** The codes in which a run of this flow can end. */
import { TERMINAL_CODES } from '../../ir/codes.ts';
import type { TerminalCode } from '../../ir/codes.ts';
import type { Node } from '../../ir/nodes.ts';
import { quote } from '../expressions/cel-text.ts';
import { reachableFrom } from '../verify/components.ts';
import type { Graph } from '../verify/graph.ts';

/** What any outside call can fail with. */
const FAILURES: readonly TerminalCode[] = [
  'UNAVAILABLE_DEP',
  'TIMEOUT',
  'IMPOSSIBLE',
  'VALIDATION_FAIL',
  'PERMISSION_DENIED',
  'UNSAFE_DETECTION',
];

export function codesOf(graph: Graph): readonly TerminalCode[] {
  // Somebody can always cancel.
  const codes = new Set<TerminalCode>(['USER_CANCEL']);
  const reached = reachableFrom([graph.body.entry], graph.targets);
  const nodes = [...reached].map(graph.node);
  const calls = nodes.filter((node) => node.op === 'do');
  for (const node of nodes) {
    if (node.op !== 'end') continue;
    if (node.code !== 'error') {
      codes.add(node.code);
      continue;
    }
    for (const code of nodes.flatMap(statedBy)) codes.add(code);
    if (calls.length === 0) codes.add('VALIDATION_FAIL');
    else {
      for (const code of FAILURES) codes.add(code);
      if (calls.some(({ retry }) => retry.max > 0)) codes.add('REPEATED_FAILURE');
    }
  }
  if (graph.body.deadlineMs !== null) codes.add('TIMEOUT');
  if (calls.some(({ undo }) => undo !== undefined)) codes.add('REVIEW_REQUIRED');
  return TERMINAL_CODES.filter((code) => codes.has(code));
}

/** The codes of a failure that the flow itself declares, such as that of a turn that went round and round. */
function statedBy(node: Node): readonly TerminalCode[] {
  if (node.op !== 'let') return [];
  const errors = node.writes.flatMap(({ slot, value }) =>
    slot === 'error' ? (typeof value === 'string' ? [value] : Object.values(value)) : [],
  );
  return TERMINAL_CODES.filter((code) => errors.some((error) => error.includes(quote(code))));
}

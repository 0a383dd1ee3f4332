/** What the compiler proved about a flow, as a short report: its nodes, its cycles and what ends them, how it can end, its costs. */
import type { Bound, Bounds, Measure } from '../../compile/certificate/certificate.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { dollars, grouped, oneLine, plural, table } from './text.ts';

export function certificate(flow: CompiledFlow, bounds: Bounds): string {
  const rows = [
    ['flow', `${oneLine(flow.id)}  ${flow.hash}`],
    ['nodes', nodesText(Object.keys(bounds.nodes))],
    ['cycles', bounds.cycles.length === 0 ? 'none' : cycleText(bounds.cycles[0])],
    ...bounds.cycles.slice(1).map((cycle) => ['', cycleText(cycle)]),
    ['ends', bounds.codes.join(', ')],
    ...bounds.concurrent.map(({ at, branches }) => [
      'at once',
      `${plural(branches.length, 'branch', 'branches')} at ${oneLine(at)}`,
    ]),
  ];
  const costs = MEASURES.flatMap(({ measure, word }) => {
    const bound = bounds.flow[measure];
    return bound.least === 0 && bound.most === 0
      ? []
      : [[`  ${word}`, amount(measure, bound.least), amount(measure, bound.most)]];
  });
  return [indent(table(rows)), indent(table([['', 'least', 'most'], ...costs]))].join('\n');
}

const MEASURES: readonly { readonly measure: Measure; readonly word: string }[] = [
  { measure: 'steps', word: 'steps' },
  { measure: 'modelCalls', word: 'model calls' },
  { measure: 'toolCalls', word: 'tool calls' },
  { measure: 'inputTokens', word: 'input tokens' },
  { measure: 'outputTokens', word: 'output tokens' },
  { measure: 'costUsd', word: 'cost' },
  { measure: 'retries', word: 'retries' },
  { measure: 'sideEffects', word: 'side effects' },
];

function amount(measure: Measure, value: Bound['most']): string {
  if (value === null) return 'no bound';
  return measure === 'costUsd' ? dollars(value) : grouped(value);
}

const NAMES_MAX = 12;

function nodesText(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => oneLine(name));
  const rest = names.length - shown.length;
  return `${names.length}: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function cycleText(cycle: Bounds['cycles'][number] | undefined): string {
  if (cycle === undefined) return '';
  const caps = cycle.caps.map(({ label, max }) => `${label} ${grouped(max)}`);
  return `${cycle.nodes.map((name) => oneLine(name)).join(', ')}: ended by ${caps.length === 0 ? 'nothing' : caps.join(', ')}`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

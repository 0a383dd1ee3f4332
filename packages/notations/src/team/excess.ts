/** Finds a selection that a lower tier of autonomy can replace. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Excess } from '@sluice-internal/compile/rules';
import { plain, type Located } from '@sluice-internal/compile/source';

export function teamExcess(body: Located): readonly Excess[] {
  const authored = plain(body) as { readonly [field: string]: Json };
  const agents = Array.isArray(authored['Agents']) ? authored['Agents'] : [];
  const selection = isRecord(authored['Selection']) ? authored['Selection'] : {};
  if (selection['Type'] === 'llm' && agents.length === 1)
    return [{ uses: 4, needs: 2, why: 'a model chooses the next agent, but there is only one' }];
  const graph = isRecord(selection['Graph']) ? selection['Graph'] : {};
  const edges = Array.isArray(graph['Edges']) ? graph['Edges'].filter(isRecord) : [];
  const froms = edges.map((edge) => edge['From']);
  const fixed = edges.every((edge) => Object.keys(edge).every((key) => key === 'From' || key === 'To'));
  const whole = edges.length > 0 && graph['SubGraphs'] === undefined;
  if (selection['Type'] === 'graph' && whole && fixed && new Set(froms).size === froms.length)
    return [{ uses: 4, needs: 2, why: 'every node of this graph has one edge, which is always taken' }];
  return [];
}

/** Boundaries name tools that exist and conditions that can be read: a rule about nothing would protect nobody. */
import { BUILTIN_TOOL_NAMES } from './builtin-tools.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from './document.ts';
import { reportProblems } from '../expressions/diagnostic.ts';
import { checkExpression } from '../expressions/expression.ts';
import { GUARD_NAMES } from '../lower/agent-turn/fail-closed.ts';
import type { Path } from '../source/located.ts';
import { toolNames } from './section-checks.ts';
import type { Boundary } from './section-bounds.ts';

export function checkBoundaries({ sections, doc }: ReadDocument, report: Report): void {
  const known = toolNames(sections.value, doc, BUILTIN_TOOL_NAMES);
  checkOne(sections.value.boundary, ['boundary']);
  for (const [index, { boundary }] of (sections.value.agents ?? []).entries())
    checkOne(boundary, ['agents', index, 'boundary']);

  function checkOne(boundary: Boundary | undefined, at: Path): void {
    if (boundary === undefined) return;
    for (const row of ['allow', 'approve', 'deny'] as const) checkNames(boundary.tools?.[row], [...at, 'tools', row]);
    checkNames(boundary.observations, [...at, 'observations']);
    for (const [index, { when }] of (boundary.fail_closed ?? []).entries())
      checkGuard(when, [...at, 'fail_closed', index, 'when']);
  }

  function checkNames(names: readonly string[] | undefined, at: Path): void {
    for (const [index, name] of (names ?? []).entries()) {
      if (name.includes('*') || known.has(name)) continue;
      const near = known.near(name);
      report.error('unknown-tool', sections.at(...at, index), `unknown tool \`${name}\` in a boundary`, {
        help:
          near === undefined
            ? 'Declare it under `tools`, or use a pattern such as `mail.*`.'
            : `Did you mean \`${near}\`?`,
      });
    }
  }

  function checkGuard(when: string, at: Path): void {
    const checked = checkExpression(when, { names: [...GUARD_NAMES] });
    const located = sections.located(...at);
    if (checked.ok || located?.kind !== 'scalar') return;
    reportProblems(report, located, checked.problems);
  }
}

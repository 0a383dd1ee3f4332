/** Checks `verifier:` of any notation. */
import { VERIFIER } from '@sluice-internal/kernel/catalog';
import type { Path } from '../source/located.ts';
import type { Range } from '../source/range.ts';
import type { Report } from '../source/diagnostics.ts';
import { checkAgent, type SectionNames } from './names.ts';

type Written =
  | string
  | false
  | { readonly agent?: string | undefined; readonly model?: string | undefined }
  | undefined;

/** The agent and the model exist. The engine's own verifier has a name in scripts, which no agent of the document may have. */
export function checkVerifier(
  written: Written,
  names: SectionNames,
  at: (...path: Path) => Range,
  report: Report,
): void {
  if (written === false) return;
  const { agent, model } = typeof written === 'string' ? { agent: written, model: undefined } : (written ?? {});
  const place = typeof written === 'string' ? at() : at('agent');
  if (agent !== undefined && agent !== 'default') checkAgent(names.agents, agent, 'verifier', place, report);
  if (model !== undefined && !names.models.poisoned && !names.models.all.has(model) && !/[/:]/.test(model))
    report.error('unknown-model', at('model'), `unknown model \`${model}\` on \`verifier\``, {
      help: names.models.help(model, 'Declare it under `models`.'),
    });
  if ((agent === undefined || agent === 'default') && names.agents.all.has(VERIFIER))
    report.error(
      'bad-value',
      at(),
      `an agent has the id \`${VERIFIER}\`, which scripts use for the verifier of the engine`,
      {
        help: `Rename the agent, or write \`verifier: ${VERIFIER}\` if it is the one that judges.`,
      },
    );
}

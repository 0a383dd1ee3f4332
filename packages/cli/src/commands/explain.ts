/** `sluice explain`: one sentence about a run, then the detail. */
import { readRun } from '@sluice-internal/engine/journal';
import { explain, recordOf } from '@sluice-internal/evals/journal';
import { oneLine } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { withRun } from '../session/store.ts';

export async function explainCommand(cli: Cli, given: string): Promise<void> {
  return withRun(cli, given, async ({ journal }, run) => {
    const explanation = explain(recordOf(await readRun(journal, run)));
    const lines = explanation.detail.map(({ seq, text }) => `${String(seq).padStart(5)}  ${oneLine(text, 300)}`);
    cli.show({ run, ...explanation }, () => [oneLine(explanation.sentence), '', ...lines].join('\n'));
  });
}

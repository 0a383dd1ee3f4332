/** `sluice explain`: one sentence about a run, then the detail. */
import { readRun } from '../../../runtime/journal/read.ts';
import { explain } from '../../evaluate/journal/explain.ts';
import { recordOf } from '../../evaluate/journal/record.ts';
import type { Cli } from '../context.ts';
import { withRun } from '../store.ts';
import { oneLine } from '../text.ts';

export async function explainCommand(cli: Cli, given: string): Promise<void> {
  return withRun(cli, given, async ({ journal }, run) => {
    const explanation = explain(recordOf(await readRun(journal, run)));
    const lines = explanation.detail.map(({ seq, text }) => `${String(seq).padStart(5)}  ${oneLine(text, 300)}`);
    cli.show({ run, ...explanation }, () => [oneLine(explanation.sentence), '', ...lines].join('\n'));
  });
}

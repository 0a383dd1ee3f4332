/** `sluice run`: compiles, starts and follows. A document that does not compile is told as `check` tells it. */
import { dirname } from 'node:path';
import type { Cli } from '../context.ts';
import { compileFile, flowIn } from '../document.ts';
import { failedCompile, renderAll } from '../diagnostics.ts';
import { statusOfRun, type ExitStatus } from '../exit-status.ts';
import { follow, printOutcome } from '../follow.ts';
import { readInput } from '../input.ts';
import { readWhole } from '../option-values.ts';
import { withSession } from '../session.ts';
import { oneLine } from '../text.ts';
import { defaultModel, demandWorld, type WorldOptions } from '../world.ts';

export interface RunOptions extends WorldOptions {
  readonly input?: string;
  readonly tenant?: string;
  readonly user?: string;
  readonly run?: string;
  readonly seed?: string;
}

export async function runCommand(cli: Cli, file: string, options: RunOptions): Promise<ExitStatus> {
  const compiled = await compileFile(file, defaultModel(options));
  const flow = flowIn(compiled);
  if (flow === null) throw failedCompile(compiled);
  const input = readInput(options.input, flow.notation);
  const seed = readWhole('--seed', options.seed);
  demandWorld(flow, options);
  if (compiled.result.diagnostics.length > 0)
    cli.hint(renderAll(compiled.result.diagnostics, compiled.text, cli.screen));
  return withSession(cli, { ...options, documentDir: dirname(file) }, flow, async (session) => {
    const { tenant, user } = options;
    const origin = { ...(tenant === undefined ? {} : { tenant }), ...(user === undefined ? {} : { user }) };
    const run = await session.engine.start(flow, {
      input,
      origin,
      ...(options.run === undefined ? {} : { run: options.run }),
      ...(seed === undefined ? {} : { seed }),
    });
    cli.hint(`run ${run} of ${oneLine(flow.id)} (${file})`);
    const report = await follow(cli, session, run);
    if (cli.json) cli.printJson(report);
    else printOutcome(cli, session.world.flags, report);
    return statusOfRun(report);
  });
}

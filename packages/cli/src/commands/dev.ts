/** `sluice dev`: serves a folder for the person at this machine, and opens its page. Documents may be changed there. */
import { present } from '@sluice-internal/kernel/expr';
import { OK } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { serve } from '@sluice-internal/server';
import { openBrowser } from '../session/browser.ts';
import { onInterrupt } from '../session/session.ts';
import { defaultModel } from '../session/world.ts';
import type { Options } from '../table/command-table.ts';
import { portOf } from './serve.ts';

export async function devCommand(cli: Cli, given: string | undefined, options: Options<'dev'>): Promise<ExitStatus> {
  const interrupt = onInterrupt();
  const folder = given ?? '.';
  try {
    const serving = await serve({
      ...{ folders: [folder], db: cli.db, dev: true, port: portOf(options.port) },
      onNotice: (message) => cli.warn(message),
      ...present({ as: options.as, model: defaultModel(options) }),
    });
    const { url, tokenFile } = serving;
    if (cli.json) cli.screen.printData(JSON.stringify({ url, tokenFile }));
    else cli.screen.print(`serving ${folder} at ${url}`);
    const [page = url, other = ''] = serving.pageUrls();
    cli.screen.note(`open ${page}\n  or ${other}`);
    if (options.open !== false && !cli.json) openBrowser(page, cli.screen.live);
    const signal = await interrupt.requested;
    cli.hint(`stopping (${signal}); runs go on when the server starts again`);
    await serving.close();
    return OK;
  } finally {
    interrupt.dispose();
  }
}

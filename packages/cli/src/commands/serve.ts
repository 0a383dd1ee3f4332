/** `sluice serve`: HTTP for the documents of some folders. Runs until it is stopped. */
import { OK, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { serve } from '@sluice-internal/server';
import type { RequestLine, ServeOptions } from '@sluice-internal/server';
import { present } from '@sluice-internal/kernel/expr';
import type { Options } from '../table/command-table.ts';
import { onInterrupt } from '../session/session.ts';
import { defaultModel } from '../session/world.ts';

export async function serveCommand(
  cli: Cli,
  folders: readonly string[],
  options: Options<'serve'>,
): Promise<ExitStatus> {
  const interrupt = onInterrupt();
  const serving = await serve({
    folders: folders.length === 0 ? ['.'] : folders,
    db: cli.db,
    port: portOf(options.port),
    oidc: oidcOf(options),
    trustProxy: options.trustProxy === true,
    onNotice: (message) => cli.warn(message),
    onRequest: (line) => log(cli, line),
    ...present({ host: options.host, as: options.as, hostNames: options.hostName, origins: options.origin }),
    ...present({ model: defaultModel(options) }),
  });
  const { url, tokenFile } = serving;
  if (options.checkConfig === true) {
    await serving.close();
    interrupt.dispose();
    cli.show({ ok: true, url, tokenFile }, () => `the configuration holds; the server would listen at ${url}`);
    return OK;
  }
  if (cli.json) cli.screen.printData(JSON.stringify({ url, tokenFile }));
  else cli.screen.print(`serving ${(folders.length === 0 ? ['.'] : folders).join(', ')} at ${url}`);
  const [page, other] = serving.pageUrls();
  // The code is for the person at this terminal. Standard output may be a pipe.
  if (page !== undefined) cli.screen.note(`open ${page}\n  or ${other ?? ''}\n  token: ${tokenFile ?? ''}`);
  const signal = await interrupt.requested;
  cli.hint(`stopping (${signal}); runs go on when the server starts again`);
  await serving.close();
  interrupt.dispose();
  return OK;
}

export function portOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port < 65_536) return port;
  throw usage(`\`--port ${given}\` is no port`, 'Give a number from 0 to 65535; 0 takes a free one.');
}

function oidcOf(options: Options<'serve'>): ServeOptions['oidc'] {
  const { oidc: issuer, oidcClient: client, oidcAudience, tenantClaim = 'tenant', accessClaim = 'access' } = options;
  if (issuer === undefined) {
    const alone = (['oidcClient', 'oidcAudience', 'tenantClaim', 'accessClaim'] as const).find(
      (name) => options[name] !== undefined,
    );
    if (alone !== undefined) throw usage('a setting of OIDC has no issuer', 'Name the issuer with `--oidc`.');
    return undefined;
  }
  if (!URL.canParse(issuer) || !/^https?:$/.test(new URL(issuer).protocol))
    throw usage(
      `\`--oidc ${issuer}\` is no address`,
      'Name the issuer as its tokens do, such as https://login.example.com.',
    );
  if (client === undefined) throw usage('`--oidc` needs the id of the client', 'Add `--oidc-client ID`.');
  return { issuer, client, audience: oidcAudience ?? client, tenantClaim, accessClaim };
}

/** One line of JSON for each request. It has no content. */
function log(cli: Cli, { error, ...line }: RequestLine): void {
  if (cli.quiet) return;
  const why =
    error === undefined ? {} : { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  cli.screen.note(JSON.stringify({ at: new Date().toISOString(), ...line, ...why }));
}

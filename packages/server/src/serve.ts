/** Listens: the token of this machine, the address of the page, and an end that loses nothing. */
import { getRequestListener } from '@hono/node-server';
import { SluiceError } from '@sluice-internal/engine/ports';
import { DEFAULT_DB } from '@sluice-internal/library/documents';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { createApp, type RequestLine } from './app.ts';
import { PACKAGE_ROOT, createFolder } from '@sluice-internal/platform';
import { fileAt } from '@sluice-internal/library/host';
import { composeServer, withTokens, type ComposedServer } from './compose.ts';
import { Folder } from './http/folder.ts';
import { openStudio } from './http/studio.ts';
import type { Limits } from './http/limits.ts';
import type { OidcOptions } from './auth/oidc.ts';
import { ACCESS, type Who } from './auth/who.ts';
import { newSecret } from './auth/secrets.ts';
import { OWN } from './auth/tokens.ts';

export interface ServeOptions {
  readonly folders: readonly string[];
  readonly db: string;
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** The person that the token of this machine stands for. */
  readonly as?: string | undefined;
  readonly oidc?: OidcOptions | undefined;
  readonly hostNames?: readonly string[] | undefined;
  readonly origins?: readonly string[] | undefined;
  readonly trustProxy?: boolean | undefined;
  readonly model?: string | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** Documents may be changed from the page. Only on this machine. */
  readonly dev?: boolean | undefined;
  /** The one document that is served. Default: all of the folders. */
  readonly only?: string | undefined;
  /** The folder of the built pages. Default: that of this package. */
  readonly studio?: string | undefined;
  readonly onNotice: (message: string) => void;
  readonly onRequest?: (line: RequestLine) => void;
}

export interface Serving {
  readonly url: string;
  /** Null if the server listens on a network. */
  readonly tokenFile: string | null;
  /** Addresses of which one opens the page once, within a minute. None on a network. */
  pageUrls(path?: string): readonly string[];
  /** Ends within 5 s: streams end with `retry`, and runs go on in the next process. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 4747;
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1', '[::1]']);
const HEADERS_MS = 10_000;
const BODY_MS = 30_000;
/** Node looks for slow requests this often. */
const CHECK_MS = 1000;
const CLOSE_MS = 4000;

export async function serve(options: ServeOptions): Promise<Serving> {
  const { db, host = '127.0.0.1', port = DEFAULT_PORT, oidc, onNotice } = options;
  const isLocal = LOOPBACK.has(host);
  await demandLogin(options, isLocal);
  const folder = await Folder.open({
    ...{ folders: options.folders, model: options.model, only: options.only, onNotice },
  });
  if (options.as !== undefined) demandLocal(folder, options.as, isLocal);
  const stop = new AbortController();
  const listener = await listening(host, port);
  const actual = (listener.address() as AddressInfo).port;
  try {
    const composed = composeServer({
      ...{ db, folder, oidc, dev: options.dev, onNotice, limits: options.limits, stopping: stop.signal },
      // Behind a proxy the callers are elsewhere.
      isLocal: isLocal && options.trustProxy !== true,
      cookie: `sluice_${actual}`,
    });
    await composed.services.store.ready?.();
    return await opened({ options, listener, composed, stop, place: { host, port: actual, isLocal } });
  } catch (error) {
    listener.close();
    folder.close();
    throw error;
  }
}

interface Opening {
  readonly options: ServeOptions;
  readonly listener: Server;
  readonly composed: ComposedServer;
  readonly stop: AbortController;
  readonly place: { readonly host: string; readonly port: number; readonly isLocal: boolean };
}

async function opened({ options, listener, composed, stop, place }: Opening): Promise<Serving> {
  const { host, port, isLocal } = place;
  const { services } = composed;
  const page = `s-${pageName(services.store.id)}.localhost:${port}`;
  const hosts = hostsOf({ ...place, names: options.hostNames ?? [] }).add(page);
  const own = isLocal ? ownToken(options.db, port, options.as ?? null) : null;
  if (own !== null) services.tokens.takeOwn(own.token, own.who);
  const app = createApp({
    services,
    door: {
      hosts: (each) => hosts.has(each),
      ...{ origins: new Set(options.origins), trustProxy: options.trustProxy ?? false },
    },
    studio: openStudio(options.studio ?? join(PACKAGE_ROOT, 'dist/studio')),
    onRequest: options.onRequest,
  });
  listener.removeAllListeners('request');
  const listen = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  listener.on('request', (incoming, outgoing) => void listen(incoming, outgoing));
  composed.watch();
  const shown = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const url = `http://${shown}:${port}`;
  return {
    url,
    tokenFile: own?.file ?? null,
    pageUrls: (path = '/') => {
      if (own === null) return [];
      const code = services.sessions.code(own.who);
      return [`http://${page}${path}#code=${code}`, `${url}${path}#code=${code}`];
    },
    close: async () => {
      stop.abort();
      const closed = new Promise<void>((resolve) => void listener.close(() => resolve()));
      const late = setTimeout(() => listener.closeAllConnections(), CLOSE_MS);
      listener.closeIdleConnections();
      await Promise.race([composed.close(), pause(CLOSE_MS)]);
      listener.closeAllConnections();
      await closed;
      clearTimeout(late);
      if (own !== null) rmSync(own.file, { force: true });
    },
  };
}

/** The timer does not keep the process. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

/** Nobody on a network may do anything without a login. */
async function demandLogin({ db, host, oidc }: ServeOptions, isLocal: boolean): Promise<void> {
  if (isLocal || oidc !== undefined || (await hasTokens(db))) return;
  throw new SluiceError(
    'serve-open',
    `\`--host ${host ?? ''}\` is an address on a network, and nobody has to log in`,
    'Make a token with `sluice tokens add`, or name an issuer with `--oidc`.',
  );
}

async function hasTokens(db: string): Promise<boolean> {
  return (await withTokens(db, (tokens) => tokens.list())).length > 0;
}

/** Resolves when the port is taken. Requests before the app is ready wait. */
function listening(host: string, port: number): Promise<Server> {
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: BODY_MS, connectionsCheckingInterval: CHECK_MS },
    (_, response) => void response.writeHead(503, { 'retry-after': '1' }).end(),
  );
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another process listens there' : error.message;
      reject(
        new SluiceError(
          'port-unavailable',
          `\`${host}:${port}\` cannot be used: ${why}`,
          'Choose another port with `--port`.',
          error,
        ),
      );
    });
    server.listen(port, host, () => resolve(server));
  });
}

interface Hosts {
  readonly host: string;
  readonly port: number;
  readonly names: readonly string[];
  readonly isLocal: boolean;
}

function hostsOf({ host, port, names, isLocal }: Hosts): Set<string> {
  const own = isLocal ? ['127.0.0.1', 'localhost', '[::1]'] : [host];
  return new Set(
    [...own.map((each) => `${each}:${port}`), ...names.flatMap((name) => [name, `${name}:${port}`])].map((each) =>
      each.toLowerCase(),
    ),
  );
}

/** 12 digits that follow from the database, so that the cookies of two databases on one port do not mix. */
function pageName(store: string): string {
  return store
    .toLowerCase()
    .replaceAll(/[^0-9a-f]/g, '')
    .slice(0, 12)
    .padEnd(12, '0');
}

interface OwnToken {
  readonly file: string;
  readonly token: string;
  readonly who: Who;
}

/** The token of this machine: its user can read it, and nobody else. It has every access, and is no person unless one was named. */
function ownToken(db: string, port: number, person: string | null): OwnToken {
  const file = resolve(dirname(fileAt(db) ?? DEFAULT_DB), `serve-${port}.token`);
  const token = newSecret('slk_');
  createFolder(dirname(file), 0o700);
  if (existsSync(file)) rmSync(file);
  writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(file, 0o600);
  const proof = { via: 'token', issuer: 'sluice', subject: 'token:local', token: 'local' } as const;
  const who = {
    name: 'local',
    tenant: null,
    person,
    access: ACCESS,
    proof,
    content: true,
    key: 'local',
    tokenName: OWN,
    expiresAt: null,
  };
  return { file, token, who };
}

/** Only a person who says so in `people` may be the user of this machine. */
function demandLocal(folder: Folder, person: string, isLocal: boolean): void {
  const known = folder.list.flatMap(({ compiled }) => Object.entries(compiled.result.flow?.people ?? {}));
  const found = known.find(([id]) => id === person);
  if (!isLocal)
    throw new SluiceError(
      'usage',
      '`--as` is for a server that listens on this machine only',
      'Leave `--host` out, or log in.',
    );
  if (found === undefined || found[1].login !== 'token:local')
    throw new SluiceError(
      'identity-unproven',
      found === undefined ? `no served flow knows \`${person}\`` : `\`${person}\` does not log in as \`token:local\``,
      `Write \`{ id: ${person}, login: token:local }\` under \`people\`.`,
    );
}

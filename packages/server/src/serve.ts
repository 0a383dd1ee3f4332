/** Listens: the token of this machine, the address of the page, and an end that loses nothing. */
import { createAdaptorServer } from '@hono/node-server';
import { SluiceError } from '@sluice-internal/engine/ports';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { createApp, type RequestLine } from './app.ts';
import { composeServer, withTokens } from './compose.ts';
import { Folder } from './http/folder.ts';
import type { Limits } from './http/limits.ts';
import type { OidcOptions } from './auth/oidc.ts';
import { ACCESS, type Who } from './auth/who.ts';
import { newSecret } from './auth/secrets.ts';

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
  readonly onNotice: (message: string) => void;
  readonly onRequest?: (line: RequestLine) => void;
}

export interface Serving {
  readonly url: string;
  /** Null if the server listens on a network. */
  readonly tokenFile: string | null;
  /** An address that opens the page once, within a minute; null on a network. */
  pageUrl(): string | null;
  /** Ends within 5 s: streams end with `retry`, and runs go on in the next process. */
  close(): Promise<void>;
}

export const DEFAULT_PORT = 4747;
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1', '[::1]']);
const HEADERS_MS = 10_000;
const BODY_MS = 30_000;
const CLOSE_MS = 4000;

export async function serve(options: ServeOptions): Promise<Serving> {
  const { db, host = '127.0.0.1', port = DEFAULT_PORT, oidc, trustProxy = false, onNotice } = options;
  const isLocal = LOOPBACK.has(host);
  if (!isLocal && oidc === undefined && !(await hasTokens(db)))
    throw new SluiceError(
      'serve-open',
      `\`--host ${host}\` is an address on a network, and nobody has to log in`,
      'Make a token with `sluice tokens add`, or name an issuer with `--oidc`.',
    );
  const folder = await Folder.open({ folders: options.folders, model: options.model, onNotice });
  if (options.as !== undefined) demandLocal(folder, options.as, isLocal);
  const stop = new AbortController();
  const listener = await listening(host, port);
  const actual = (listener.address() as AddressInfo).port;
  const hosts = hostsOf({ host, port: actual, names: options.hostNames ?? [], isLocal });
  let composed: ReturnType<typeof composeServer>;
  try {
    composed = composeServer({
      ...{ db, folder, oidc, isLocal, onNotice, limits: options.limits, stopping: stop.signal },
      cookie: `sluice_${actual}`,
    });
  } catch (error) {
    listener.close();
    throw error;
  }
  const { services } = composed;
  const page = `s-${pageName(services.store.id)}.localhost:${actual}`;
  hosts.add(page);
  const own = isLocal ? ownToken(db, actual, options.as ?? null) : null;
  if (own !== null) services.tokens.takeOwn(own.token, own.who);
  const app = createApp({
    services,
    door: {
      ...{ hosts: trustProxy ? null : hosts, origins: new Set(options.origins) },
      ...{ bodyBytes: services.limits.bodyBytes, depth: services.limits.depth },
    },
    onRequest: options.onRequest,
  });
  listener.removeAllListeners('request');
  const handler = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
  for (const each of handler.listeners('request')) listener.on('request', each as (...args: unknown[]) => void);
  folder.watch();
  const shown = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${actual}`,
    tokenFile: own?.file ?? null,
    pageUrl: () => (own === null ? null : `http://${page}/#code=${services.sessions.code(own.who)}`),
    close: async () => {
      stop.abort();
      const closed = new Promise<void>((resolve) => void listener.close(() => resolve()));
      const late = setTimeout(() => listener.closeAllConnections(), CLOSE_MS);
      listener.closeIdleConnections();
      await composed.close();
      await closed;
      clearTimeout(late);
      if (own !== null) rmSync(own.file, { force: true });
    },
  };
}

async function hasTokens(db: string): Promise<boolean> {
  return (await withTokens(db, (tokens) => tokens.list())).length > 0;
}

/** Resolves when the port is taken. Requests before the app is ready wait. */
function listening(host: string, port: number): Promise<Server> {
  const server = createAdaptorServer({ fetch: () => new Response(null, { status: 503 }) }) as Server;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = BODY_MS;
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
  return Buffer.from(store).toString('hex').slice(0, 12).padEnd(12, '0');
}

interface OwnToken {
  readonly file: string;
  readonly token: string;
  readonly who: Who;
}

/** The token of this machine: its user can read it, and nobody else. It has every access, and is no person unless one was named. */
function ownToken(db: string, port: number, person: string | null): OwnToken {
  const file = join(dirname(db), `serve-${port}.token`);
  const token = newSecret('slk_');
  mkdirSync(dirname(file), { recursive: true });
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

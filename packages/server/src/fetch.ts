/** `engine.fetch`: the routes of the server in the server of a program, which knows who calls. */
import { SluiceError } from '@sluice-internal/engine/ports';
import { compileAs } from '@sluice-internal/library/documents';
import type { Composed } from '@sluice-internal/library/compose';
import type { CreateEngineOptions } from '@sluice-internal/library';
import { createApp } from './app.ts';
import { servicesOf, viewOf } from './compose.ts';
import type { FetchOptions, Identity } from './create-engine.ts';
import type { DoorOptions } from './http/door.ts';
import type { Flows, Served } from './http/folder.ts';
import type { App } from './http/routing.ts';
import { seesContent, type Who } from './auth/who.ts';

type Fetch = (request: Request, options: FetchOptions) => Promise<Response>;

const KNOWN: { readonly [option in keyof Required<FetchOptions>]: true } = {
  identify: true,
  prefix: true,
  hostNames: true,
  trust: true,
};
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

export function fetchOf(composed: Composed, options: CreateEngineOptions, stopping: AbortSignal): Fetch {
  const asked = new WeakMap<Request, FetchOptions>();
  const apps = new Map<string, App>();
  const flows = definedFlows(options);
  const appFor = ({ hostNames = [], trust }: FetchOptions): App => {
    const key = JSON.stringify([hostNames, trust]);
    const app = apps.get(key) ?? made(hostNames, trust === 'outer');
    apps.set(key, app);
    return app;
  };
  const made = (hostNames: readonly string[], isTrusted: boolean): App => {
    const services = servicesOf({
      ...{ store: composed.store, folder: flows, oidc: undefined, attachments: composed.attachments },
      limits: isTrusted ? UNLIMITED : undefined,
    });
    return createApp({
      services: {
        ...services,
        ...{ isLocal: false, stopping, cookie: '', erase: null },
        callers: { of: async () => null, ofSecret: async () => 'refused', holds: async () => true },
        view: async (who) => viewOf(composed, who),
        viewOf: async (who) => viewOf(composed, who),
      },
      door: doorOf(hostNames, isTrusted),
      identify: async (request) => whoOf(await asked.get(request)?.identify(request)),
    });
  };
  return async (request, given) => {
    refuseOthers(given);
    const inside = withoutPrefix(request, given.prefix ?? '');
    asked.set(inside, given);
    return appFor(given).fetch(inside);
  };
}

/** The program has its own. */
const UNLIMITED = {
  ...{ burst: Number.MAX_SAFE_INTEGER, perSecond: Number.MAX_SAFE_INTEGER, bodyBytes: Number.MAX_SAFE_INTEGER },
  ...{ streams: Number.MAX_SAFE_INTEGER, streamsPerCaller: Number.MAX_SAFE_INTEGER },
};

function doorOf(hostNames: readonly string[], isTrusted: boolean): DoorOptions {
  const names = new Set([...LOOPBACK, ...hostNames].map((name) => name.toLowerCase()));
  const isKnown = (host: string): boolean => names.has(host) || names.has(host.replace(/:\d+$/, ''));
  return { hosts: isTrusted ? null : isKnown, origins: new Set(), trustProxy: false };
}

/** A program in JavaScript can pass anything. Without `identify` everybody would be somebody. */
function refuseOthers(given: FetchOptions): void {
  const refuse = (message: string): never => {
    throw new SluiceError('bad-start', message, 'Pass `identify`, which says who sends the request, or null.');
  };
  if (typeof given !== 'object' || given === null || typeof given.identify !== 'function')
    refuse('`engine.fetch` has no function `identify`');
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(KNOWN, key));
  if (unknown !== undefined) refuse(`\`${unknown}\` is not an option of \`engine.fetch\``);
  if (given.trust !== undefined && given.trust !== 'outer') refuse('`trust` of `engine.fetch` is `outer` or absent');
}

function withoutPrefix(request: Request, prefix: string): Request {
  const url = new URL(request.url);
  const start = prefix.replace(/\/+$/, '');
  if (start === '') return new Request(request);
  const isInside = url.pathname === start || url.pathname.startsWith(`${start}/`);
  // A path elsewhere is no route, and must not become one.
  url.pathname = isInside ? url.pathname.slice(start.length) || '/' : `/-${url.pathname}`;
  return new Request(url, request);
}

function whoOf(identity: Identity | null | undefined): Who | null {
  if (identity === null || identity === undefined) return null;
  const { tenant, person, access, proof } = identity;
  if (!Array.isArray(access)) throw new TypeError('`identify` gave no list of `access`');
  const name = person ?? proof?.subject?.replace(/^token:/, '') ?? 'program';
  return {
    ...{ name, tenant, person, access, expiresAt: null, tokenName: null },
    // The engine checks the proof, and refuses half of one.
    proof: proof as Who['proof'],
    content: seesContent(access, false),
    key: JSON.stringify([tenant, person, proof?.issuer, proof?.subject]),
  };
}

/** The definitions that the program gave to the engine. They do not change. */
function definedFlows({ flows = [], models, toolOptions }: CreateEngineOptions): Flows {
  const root = toolOptions?.documentDir ?? '.';
  const model = typeof models?.model === 'string' ? models.model : undefined;
  const list = flows.map((definition): Served => {
    const { id, document } = definition;
    const result = compileAs(`${root}/${id}`, document, model, null);
    const compiled = { file: id, document, result, definition };
    return { id, file: id, path: root, compiled, versions: [result.flow?.hash ?? ''], isDefinition: true };
  });
  return {
    ...{ list, root, folders: [], model },
    get: (id, hash) => list.find((each) => each.id === id && (hash === undefined || each.versions.includes(hash))),
    scripts: [],
    script: () => undefined,
    onChange: () => () => undefined,
    peopleOf: () => [],
  };
}

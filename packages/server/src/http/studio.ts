/**
 * The built pages. All files are known at the start, so a request chooses one of them and never names a path of this machine. Addresses of
 * pages, such as `/runs/r_1`, get the one page of the application.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Null: the request is for no page. */
export type Studio = (request: Request) => Response | null;

interface File {
  readonly type: string;
  readonly body: Buffer;
  /** Null if it would not be smaller. */
  readonly gzip: Buffer | null;
  /** Its name has the hash of its content. */
  readonly isHashed: boolean;
}

const INDEX = '/index.html';
const TYPES: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
const HASHED = /[-.][\w-]{8,}\.\w+$/;
/** Answers of the API are never a page, whatever the caller accepts. */
const NO_PAGE = /^\/(v1|openapi|metrics|healthz|readyz|mcp|a2a|agui|\.well-known)(\/|\.|$)/;

/** Null if the pages were not built. */
export function openStudio(folder: string): Studio | null {
  if (!existsSync(join(folder, INDEX))) return null;
  const files = new Map(filesIn(folder).map((path) => [`/${path.split(sep).join('/')}`, fileAt(folder, path)]));
  return ({ method, url, headers }) => {
    if (method !== 'GET' && method !== 'HEAD') return null;
    const { pathname } = new URL(url);
    const named = files.get(pathname);
    if (named !== undefined) return answer(named, headers);
    const wantsPage = (headers.get('accept') ?? '').includes('text/html');
    const page = files.get(INDEX);
    return wantsPage && !NO_PAGE.test(pathname) && page !== undefined ? answer(page, headers) : null;
  };
}

function answer({ type, body, gzip, isHashed }: File, headers: Headers): Response {
  const packed = /\bgzip\b/.test(headers.get('accept-encoding') ?? '') ? gzip : null;
  return new Response(new Uint8Array(packed ?? body), {
    headers: {
      'content-type': type,
      'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      ...(packed === null ? {} : { 'content-encoding': 'gzip' }),
    },
  });
}

function filesIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name).slice(folder.length + 1)] : [],
  );
}

function fileAt(folder: string, path: string): File {
  const body = readFileSync(join(folder, path));
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  const gzip = /^(text|image\/svg|application\/(json|manifest))/.test(type) ? gzipSync(body) : null;
  return { type, body, gzip: gzip !== null && gzip.length < body.length ? gzip : null, isHashed: HASHED.test(path) };
}

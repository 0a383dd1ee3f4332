/** The built pages: one application, its files, a strict policy, and nothing else of the machine. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { place, type Place } from './kit.ts';

let here: Place;
const studio = mkdtempSync(join(tmpdir(), 'sluice-studio-'));
beforeAll(async () => {
  mkdirSync(join(studio, 'assets'));
  writeFileSync(join(studio, 'index.html'), `<!doctype html><title>Sluice</title>${' '.repeat(500)}`);
  writeFileSync(join(studio, 'assets/app-Ab12Cd34.js'), 'console.log(1);');
  symlinkSync('/etc/passwd', join(studio, 'passwd.txt'));
  here = await place({ studio });
});
afterAll(async () => {
  await here.end();
  rmSync(studio, { recursive: true, force: true });
});

const page = (path: string, headers: { readonly [name: string]: string } = {}) =>
  here.ask('GET', path, { token: null, headers: { accept: 'text/html', ...headers } });

test('an address of a page gets the application, without a login and under a strict policy', async () => {
  for (const path of ['/', '/inbox', '/runs/r_1?at=3', '/runs/a/compare/b', '/index.html']) {
    const { status, headers, body } = await page(path);
    expect([status, headers.get('content-type'), headers.get('cache-control')], path).toEqual([
      ...[200, 'text/html; charset=utf-8', 'no-cache'],
    ]);
    expect(String(body['text']), path).toContain('<title>Sluice</title>');
    expect(headers.get('content-security-policy'), path).toMatch(/^default-src 'none'; script-src 'self';/);
  }
  expect((await here.ask('HEAD', '/', { token: null, headers: { accept: 'text/html' } })).status).toBe(200);
});

test('a file whose name has its hash is kept for ever, and is sent packed', async () => {
  const { headers } = await here.ask('GET', '/assets/app-Ab12Cd34.js', { token: null });
  expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
    ...['text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
  ]);
  const response = await fetch(`${here.serving.url}/`, { headers: { accept: 'text/html', 'accept-encoding': 'gzip' } });
  expect([response.headers.get('content-encoding'), await response.text()]).toEqual([
    'gzip',
    expect.stringContaining('Sluice'),
  ]);
});

test('a link of another site opens the page, and calls nothing else', async () => {
  const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect((await page('/runs/r_1', visit)).status).toBe(200);
  expect((await page('/runs/r_1', { ...visit, 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  expect((await page('/v1/runs', visit)).status).toBe(403);
  expect((await page('/v1/runs', { ...visit, 'sec-fetch-site': 'none' })).status).toBe(401);
  expect((await page('/', { host: 'evil.example' })).status).toBe(421);
});

test('what is no page is a problem, and no path leads out of the folder', async () => {
  for (const path of ['/v1/none', '/v1', '/openapi.xml', '/metrics/x', '/.well-known/agent-card.json', '/mcp'])
    expect([(await page(path)).status, path]).toEqual([404, path]);
  expect((await here.ask('GET', '/assets/none.js', { token: null })).body).toMatchObject({ code: 'route-not-found' });
  expect((await here.ask('POST', '/inbox', { body: {} })).status).toBe(404);
  for (const path of [
    '/passwd.txt',
    '/assets/../../etc/passwd',
    '/..%2f..%2fetc%2fpasswd',
    '//etc/passwd',
    '/assets%2fapp-Ab12Cd34.js',
  ]) {
    const { body } = await here.ask('GET', path, { token: null });
    expect(JSON.stringify(body), path).not.toMatch(/root:|console\.log/);
  }
});

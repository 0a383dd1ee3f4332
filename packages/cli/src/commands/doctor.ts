/** `sluice doctor`: checks the prerequisites on this machine. Keys are never printed. */
import { present, reasonOf } from '@sluice-internal/kernel/expr';
import {
  FAILED,
  OK,
  compileFile,
  oneLine,
  plural,
  prerequisiteDiagnostics,
  table,
} from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { discoverMcp } from '@sluice-internal/tools/mcp';
import type { McpServer } from '@sluice-internal/tools/calls';
import { SluiceError } from '@sluice-internal/engine/ports';
import { closing, isAddress, openStore, withoutPassword } from '@sluice-internal/library/host';
import { PROVIDERS } from '@sluice-internal/kernel/catalog';
import { requireModel, targetOf } from '@sluice-internal/models';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { loosePermissions } from '@sluice-internal/store-sqlite';
import type { Options } from '../table/command-table.ts';
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export async function doctorCommand(
  cli: Cli,
  files: readonly string[],
  { connect = false }: Options<'doctor'>,
): Promise<ExitStatus> {
  const needs = await Promise.all(files.map((file) => needsOf(file, connect)));
  const findings = [...(await examine(cli.db)), ...needs.flat()];
  const ok = findings.every(({ status }) => status !== 'bad');
  cli.show(
    { ok, checks: findings },
    () => `${table(findings.map(rowOf))}\n\n${ok ? 'ready' : 'not ready: see the lines marked `bad`'}`,
  );
  return ok ? OK : FAILED;
}

function rowOf({ name, status, found, help }: Finding): string[] {
  return [status, oneLine(name), oneLine(help === undefined ? found : `${found} (${help})`)];
}

interface Finding {
  readonly name: string;
  /** `bad` stops flows from running; `missing` concerns optional parts; a `warning` should be corrected. */
  readonly status: 'ok' | 'missing' | 'warning' | 'bad';
  readonly found: string;
  readonly help?: string;
}

/** The help is for a check that fails. */
function finding(name: string, isGood: boolean, found: string, help: string): Finding {
  return isGood ? { name, status: 'ok', found } : { name, status: 'bad', found, help };
}

async function examine(db: string): Promise<readonly Finding[]> {
  const store = isAddress(db) ? [await server(db)] : [...disk(db), ...permissions(db)];
  return [node(), sqlite(), ...store, clock(), bubblewrap(), ...keys(process.env)];
}

/** The prerequisites of the models, tools and MCP servers of a document. */
async function needsOf(file: string, connect: boolean): Promise<readonly Finding[]> {
  const compiled = await compileFile(file);
  const errors = compiled.result.diagnostics.filter(({ severity }) => severity === 'error');
  const missing = [...errors, ...(await prerequisiteDiagnostics(compiled, 'error'))];
  const bad = missing.map(({ message, help = '' }): Finding => ({ name: file, status: 'bad', found: message, help }));
  const servers = await Promise.all(
    Object.entries(compiled.result.servers ?? {}).map((entry) => serverFinding(file, entry)),
  );
  const { flow } = compiled.result;
  const models = flow === undefined ? [] : await modelFindings(file, flow, connect);
  const all = [...bad, ...servers, ...models];
  return all.length === 0 ? [{ name: file, status: 'ok', found: 'its tools have what they need' }] : all;
}

async function serverFinding(file: string, [name, config]: [string, McpServer]): Promise<Finding> {
  try {
    const { servers } = await discoverMcp({ [name]: config }, { documentDir: dirname(file) });
    return { name: `MCP server ${name}`, status: 'ok', found: plural(servers[name]?.length ?? 0, 'tool') };
  } catch (error) {
    const { message, help } = error as SluiceError;
    return { name: `MCP server ${name}`, status: 'bad', found: message, ...present({ help }) };
  }
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const good = major > 22 || (major === 22 && minor >= 13);
  return finding('node', good, process.version, 'Node 22.13 or newer is needed');
}

function sqlite(): Finding {
  const scratch = new DatabaseSync(':memory:');
  const row = scratch.prepare('SELECT sqlite_version() AS version').get() as { version: string };
  scratch.close();
  return { name: 'sqlite', status: 'ok', found: row.version };
}

const ROOM_MIN = 100 * 1024 * 1024;

function disk(db: string): readonly Finding[] {
  const folder = nearestFolder(dirname(resolve(db)));
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return [finding('database folder', false, `${folder} cannot be written`, 'change its permissions, or use --db')];
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  return [
    { name: 'database folder', status: 'ok', found: `${folder} can be written` },
    walWorks(folder),
    finding('free disk', free >= ROOM_MIN, `${(free / 1024 ** 3).toFixed(1)} GB`, 'make room'),
  ];
}

/** Writes a real database in WAL mode, because network disks often lack support. */
function walWorks(folder: string): Finding {
  const name = 'write-ahead log';
  let scratch: string | undefined;
  try {
    scratch = mkdtempSync(join(folder, '.sluice-doctor-'));
    const database = new DatabaseSync(join(scratch, 'probe.db'));
    const mode = (database.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string }).journal_mode;
    database.exec('CREATE TABLE probe (value TEXT) STRICT; INSERT INTO probe VALUES (1)');
    database.close();
    const works = mode === 'wal';
    return finding(name, works, works ? 'works' : `the disk gives \`${mode}\``, 'use a local disk');
  } catch (error) {
    return finding(name, false, reasonOf(error), 'use a local disk');
  } finally {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  }
}

/** Connects as a worker does, and makes nothing. */
async function server(db: string): Promise<Finding> {
  const name = 'database server';
  try {
    await closing(openStore(db, { readOnly: true }), async (store) => store.ready?.());
    return { name, status: 'ok', found: `${withoutPassword(db)} has a store` };
  } catch (error) {
    return {
      name,
      status: 'bad',
      found: reasonOf(error),
      help: error instanceof SluiceError ? (error.help ?? '') : '',
    };
  }
}

function permissions(db: string): readonly Finding[] {
  const name = 'permissions';
  if (!existsSync(db)) return [];
  const problems = loosePermissions(db);
  if (problems.length === 0) return [{ name, status: 'ok', found: `only its owner can open ${db}` }];
  return problems.map((found) => ({ name, status: 'warning', found }));
}

function clock(): Finding {
  const now = new Date();
  const good = now.getUTCFullYear() >= 2026 && now.getUTCFullYear() < 2100;
  return finding('clock', good, now.toISOString(), 'set it: deadlines and the journal depend on it');
}

function bubblewrap(): Finding {
  const name = 'bubblewrap';
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = folders.map((folder) => join(folder, 'bwrap')).find((file) => existsSync(file));
  if (found !== undefined) return { name, status: 'ok', found };
  return { name, status: 'missing', found: 'not found', help: 'shell tools need it to be sandboxed' };
}

/** The providers: the variable of the key that is set, or the one to set. */
function keys(env: NodeJS.ProcessEnv): readonly Finding[] {
  return Object.entries(PROVIDERS)
    .filter(([name, { open }]) => open !== true && name !== 'openai.chat')
    .map(([name, { keys: variables }]): Finding => {
      const found = variables.find((variable) => (env[variable] ?? '') !== '');
      if (found !== undefined) return { name: `provider ${name}`, status: 'ok', found: `${found} is set` };
      return { name: `provider ${name}`, status: 'missing', found: `${variables[0] ?? ''} is not set` };
    });
}

/** The models of a document: the key, the provider package, and with `--connect` whether the server answers. */
async function modelFindings(file: string, flow: CompiledFlow, connect: boolean): Promise<readonly Finding[]> {
  const aliases = Object.keys(flow.models).filter((alias) => alias !== '');
  return Promise.all(
    aliases.map(async (alias): Promise<Finding> => {
      const name = `model ${alias}`;
      try {
        const target = targetOf(flow, '', alias, {});
        requireModel(target, dirname(file));
        const found =
          target.keyFrom === undefined
            ? 'needs no key'
            : `${target.keyFrom} ${target.key ? 'is set' : 'is not needed'}`;
        return connect && target.baseUrl !== undefined
          ? await reached(name, target.baseUrl)
          : { name, status: 'ok', found: `${target.name}, ${found}` };
      } catch (error) {
        const { message, help } = error as SluiceError;
        return { name, status: 'bad', found: message, ...present({ help }) };
      }
    }),
  );
}

const REACH_TIMEOUT_MS = 5000;

/** Any answer counts, also one that asks for a key. */
async function reached(name: string, url: string): Promise<Finding> {
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(REACH_TIMEOUT_MS), redirect: 'manual' });
    return { name, status: 'ok', found: `${url} answers with ${status}` };
  } catch (error) {
    const { cause, message } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    return finding(name, false, `${url} does not answer: ${reason}`, 'check `base_url` and the network');
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}

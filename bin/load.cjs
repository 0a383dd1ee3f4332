/*
 * Loads the bundle with the compiled code of an earlier start of the same command. Node's own cache holds what a file compiles
 * when it is loaded. This one also holds the functions that the command called, which take most of the time of a short command.
 *
 * The code is in the cache folder of the user, and not in the temporary folder, which tools of a run may be allowed to write to.
 * `NODE_COMPILE_CACHE` names another folder, and `NODE_DISABLE_COMPILE_CACHE` turns the cache off. The names of the files of the bundle are hashes of their content, and V8
 * refuses code of another release or with other flags.
 */
'use strict';

const { isAscii } = require('node:buffer');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');

/** A command takes other ways in later starts, so the first few add the functions that they called. */
const STARTS_RECORDED = 3;
/** After a longer run V8 has dropped functions that ran only at the start. */
const SHORT_SECONDS = 10;

const [HEAD, TAIL] = Module.wrap('\0')
  .split('\0')
  .map((part) => Buffer.from(part));

const bundle = path.join(__dirname, '..', 'dist', 'bundle');
const paths = Module._nodeModulePaths(bundle);
const scripts = new Map();
let cache = null;

/** The exports of a file of the bundle. `command` is the word on the command line that names the cache. */
exports.load = function load(file, command) {
  const folder = isOff() ? null : ownFolder('sluice-code');
  if (folder === null) return require(path.join(bundle, file));
  cache = readCache(path.join(folder, `${cacheName(command)}.bin`));
  process.on('exit', record);
  return loadChunk(path.join(bundle, file));
};

/** Node's own cache, for modules outside of the bundle. */
exports.enableNodeCache = function enableNodeCache() {
  const folder = Module.enableCompileCache === undefined ? null : ownFolder('sluice-node');
  if (folder !== null) Module.enableCompileCache(folder);
};

function isOff() {
  return process.env.NODE_DISABLE_COMPILE_CACHE === '1' || Boolean(process.env.NODE_V8_COVERAGE);
}

/** Null if the folder cannot be made, or if another user could write to it or put another folder in its place. */
function ownFolder(name) {
  const uid = typeof process.getuid === 'function' ? process.getuid() : 0;
  try {
    const parent = cacheFolder();
    if (!path.isAbsolute(parent)) return null;
    const folder = path.join(parent, `${name}-${uid}`);
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { mode, uid: owner } = fs.lstatSync(folder);
    const isOwn = typeof process.getuid !== 'function' || (owner === uid && (mode & 0o022) === 0 && isSteady(parent));
    return isOwn && fs.lstatSync(folder).isDirectory() ? folder : null;
  } catch {
    return null;
  }
}

/** In a folder that everyone can write to, only the sticky bit keeps others from renaming folders. */
function isSteady(parent) {
  const { mode } = fs.statSync(parent);
  return (mode & 0o002) === 0 || (mode & 0o1000) !== 0;
}

/** A relative path would name a folder of the current folder, whose files can come from others. */
function cacheFolder() {
  const { NODE_COMPILE_CACHE: named, XDG_CACHE_HOME: ofUser } = process.env;
  if (named) return path.resolve(named);
  return ofUser && path.isAbsolute(ofUser) ? ofUser : path.join(os.homedir(), '.cache');
}

/** One cache for each installation, release of V8 and command. */
function cacheName(command) {
  const word = /^[a-z]{1,20}$/.test(command) ? command : 'other';
  let place = 5381;
  for (const character of bundle) place = (place * 33 + character.charCodeAt(0)) >>> 0;
  return [word, process.versions.v8, place.toString(36)].join('-');
}

/** The length of the index, the index as JSON, then the code of each chunk. V8 trusts the code, so its sum is checked here. */
function readCache(file) {
  const empty = { file, starts: 0, chunks: {}, data: Buffer.alloc(0) };
  try {
    const bytes = fs.readFileSync(file);
    const end = 4 + bytes.readUInt32LE(0);
    const { starts, chunks, sum } = JSON.parse(bytes.toString('latin1', 4, end));
    const data = bytes.subarray(end);
    return sum === crc32(data) ? { file, starts, chunks, data } : empty;
  } catch {
    return empty;
  }
}

/** Writes the code of this start, unless enough starts did. The next start reads the old file or the new one. */
function record() {
  const isNew = [...scripts.values()].some(({ isKnown }) => !isKnown);
  const isShort = process.uptime() < SHORT_SECONDS && process.exitCode !== 2;
  if (!isShort || (!isNew && cache.starts >= STARTS_RECORDED)) return;
  const draft = `${cache.file}.${process.pid}`;
  try {
    fs.writeFileSync(draft, cacheOf(parts(), isNew ? 1 : cache.starts + 1), { mode: 0o600 });
    fs.renameSync(draft, cache.file);
  } catch {
    fs.rmSync(draft, { force: true });
  }
}

/** The code of the chunks by name. Chunks of the same build that only other starts needed keep theirs. */
function parts() {
  const kept = Object.entries(cache.chunks).filter(([name]) => fs.existsSync(path.join(bundle, name)));
  const found = new Map(kept.map(([name, [from, length]]) => [name, cache.data.subarray(from, from + length)]));
  for (const [name, { script }] of scripts) found.set(name, script.createCachedData());
  return found;
}

function cacheOf(found, starts) {
  const chunks = {};
  let size = 0;
  for (const [name, { length }] of found) {
    chunks[name] = [size, length];
    size += length;
  }
  const data = Buffer.concat([...found.values()]);
  const index = Buffer.from(JSON.stringify({ starts, chunks, sum: crc32(data) }), 'latin1');
  const head = Buffer.alloc(4);
  head.writeUInt32LE(index.length);
  return Buffer.concat([head, index, data]);
}

/** As `require` does it. Modules that are imported later find the chunk in Node's own cache of modules. */
function loadChunk(file) {
  const known = Module._cache[file];
  if (known !== undefined) return known.exports;
  const module = new Module(file, null);
  module.filename = file;
  module.paths = paths;
  Module._cache[file] = module;
  const load = (id) => (id.startsWith('./') ? loadChunk(bundle + path.sep + id.slice(2)) : module.require(id));
  compile(file).call(module.exports, module.exports, load, module, file, bundle);
  module.loaded = true;
  return module.exports;
}

function compile(filename) {
  const name = path.basename(filename);
  const [from, length] = cache.chunks[name] ?? [0, 0];
  const cachedData = length === 0 ? undefined : cache.data.subarray(from, from + length);
  const script = new vm.Script(wrapped(fs.readFileSync(filename)), {
    filename,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  // The names of entries are no hashes. They only load a chunk.
  if (name.includes('-'))
    scripts.set(name, { script, isKnown: cachedData !== undefined && !script.cachedDataRejected });
  return script.runInThisContext();
}

/** The text is made in one piece, because a joined text would be copied once more. */
function wrapped(source) {
  const bytes = Buffer.concat([HEAD, source, TAIL]);
  return bytes.toString(isAscii(source) ? 'latin1' : 'utf8');
}

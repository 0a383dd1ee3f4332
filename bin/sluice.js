#!/usr/bin/env node
/*
 * Starts the command on a Node that it runs on. Kept in the syntax of old releases on purpose: on Node 20 it has to find the
 * project's own pinned Node, and where there is none it has to say so in one line instead of failing to parse.
 */
'use strict';

var fs = require('fs');
var path = require('path');

var NEEDED = [22, 13];
var root = path.join(__dirname, '..');

if (isNewEnough(process.versions.node)) start();
else restart(pinnedNode());

function isNewEnough(version) {
  var parts = version.split('.').map(Number);
  return parts[0] > NEEDED[0] || (parts[0] === NEEDED[0] && parts[1] >= NEEDED[1]);
}

function start() {
  // Node 22 calls its SQLite experimental on every start, and every Node a part of its loader. A user can act on neither.
  var emit = process.emitWarning;
  process.emitWarning = function (warning) {
    var isOurs = /SQLite is an experimental feature|vm\.USE_MAIN_CONTEXT_DEFAULT_LOADER/.test(String(warning));
    if (!isOurs) return emit.apply(process, arguments);
  };
  require('./load.cjs').enableNodeCache();
  program()
    .then(function (cli) {
      return cli.main(process.argv.slice(2));
    })
    .catch(function (error) {
      if (isOutOfFiles(error)) return tooManyFiles();
      process.stderr.write('error[internal-error]: ' + (error && error.stack ? error.stack : error) + '\n');
      process.exitCode = 1;
    });
}

/** The bundle. A checkout runs its source if that is newer, so that an edit takes effect at once. Node 22 cannot run it. */
function program() {
  var built = path.join(root, 'dist', 'bundle', 'cli.cjs');
  var source = path.join(root, 'packages', 'cli', 'src', 'main.ts');
  var runsTypes = Number(process.versions.node.split('.')[0]) >= 24;
  if (runsTypes && fs.existsSync(source) && !isBuiltAfter(built))
    return import(require('url').pathToFileURL(source).href);
  return Promise.resolve().then(function () {
    return require('./load.cjs').load('cli.cjs', process.argv[2]);
  });
}

function isBuiltAfter(built) {
  if (!fs.existsSync(built)) return false;
  var at = fs.statSync(built).mtimeMs;
  var packages = path.join(root, 'packages');
  return fs.readdirSync(packages).every(function (name) {
    var source = path.join(packages, name, 'src');
    return !fs.existsSync(source) || isOlder(source, at);
  });
}

/** True if the folder and all that is in it were changed last at this time or before. */
function isOlder(folder, at) {
  if (fs.statSync(folder).mtimeMs > at) return false;
  return fs.readdirSync(folder, { withFileTypes: true }).every(function (entry) {
    var file = folder + path.sep + entry.name;
    return entry.isDirectory() ? isOlder(file, at) : fs.statSync(file).mtimeMs <= at;
  });
}

/** Looks where Node looks for packages of this file. The current folder does not count: a tool of a run may write there. */
function pinnedNode() {
  for (var folder = root; ; folder = path.dirname(folder)) {
    var file = path.join(folder, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (fs.existsSync(file)) return file;
    if (folder === path.dirname(folder)) return null;
  }
}

function restart(node) {
  // A pinned Node that is itself too old would start this file again and again.
  if (node === null || process.env.SLUICE_LAUNCHER) {
    process.stderr.write(
      'error[old-node]: sluice needs Node ' + NEEDED.join('.') + ' or newer, and this is ' + process.version + '\n',
    );
    process.exit(2);
  }
  var env = Object.assign({}, process.env, { SLUICE_LAUNCHER: String(process.pid) });
  // The channel carries no messages: when this process is killed it closes, and the command knows that it was left alone.
  var child = require('child_process').spawn(node, [__filename].concat(process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: env,
  });
  ['SIGINT', 'SIGTERM', 'SIGHUP'].forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal);
    });
  });
  child.on('error', function (error) {
    if (isOutOfFiles(error)) return tooManyFiles();
    process.stderr.write('error[old-node]: could not start ' + node + ': ' + error.message + '\n');
    process.exit(2);
  });
  child.on('exit', function (status, signal) {
    if (signal === null) process.exit(status);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function isOutOfFiles(error) {
  return Boolean(error) && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

function tooManyFiles() {
  process.stderr.write(
    'error[too-many-files]: no more files can be opened\n' +
      '  = help: Raise the limit, for example `ulimit -n 1024`.\n' +
      '  = see docs/errors/too-many-files.md\n',
  );
  process.exitCode = 1;
}

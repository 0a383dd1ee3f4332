/** `compile` for programs: takes text or an object, returns a compiled flow or the diagnostics. */
import { hash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import type { McpLock } from '@sluice-internal/kernel/catalog';
import { priceOf } from '@sluice-internal/models';
import { checkPolicy } from '@sluice-internal/guard/policy';
import { compile as compileDocument } from '@sluice-internal/notations/driver';
import type { CompileResult } from '@sluice-internal/notations/driver';

export interface CompileOptions {
  /** The name of the document in diagnostics. Files that the document names are read from the same folder. */
  readonly file?: string;
  /** The model for agents that name none: an alias of `models`, or `provider/model`. */
  readonly model?: string;
  /** The tools of the MCP servers, from a lock file or from `discoverMcp`. */
  readonly mcpLock?: McpLock;
  /** Only files in these folders are read, and no hidden ones: for a document of somebody who may not read this machine. */
  readonly within?: readonly string[];
}

/**
 * Compiles a document.
 * @example
 * const { flow, diagnostics } = compile(text, { file: 'support.flow.yaml' });
 */
export function compile(source: string | object, options: CompileOptions = {}): CompileResult {
  const { within, ...others } = options;
  const readText = textReader(options.file === undefined ? '.' : dirname(options.file), within);
  return compileDocument(source, {
    ...others,
    priceOf,
    checkPolicy,
    readText,
    hash: (text) => hash('sha256', text, 'hex'),
  });
}

/** Reads the files that a document names. The result is null for a file that cannot be read. */
function textReader(folder: string, within: CompileOptions['within']): (file: string) => string | null {
  return (file) => {
    try {
      const path = resolve(folder, file);
      if (within !== undefined && !within.some((each) => isInside(each, path))) return null;
      const bytes = readFileSync(path);
      return isUtf8(bytes) ? bytes.toString('utf8') : null;
    } catch {
      return null;
    }
  };
}

/** Links are followed first, so that none leads out. Throws if there is no such file. */
function isInside(folder: string, path: string): boolean {
  const real = realpathSync(path);
  const inner = relative(realpathSync(folder), real);
  const parts = inner.split(sep);
  return statSync(real).isFile() && !isAbsolute(inner) && !parts.some((part) => part.startsWith('.'));
}

/**
 * A seccomp filter for the sandbox. It refuses system calls that reach state outside the namespaces of the sandbox, such as
 * the keyrings of the user, and calls that ordinary programs do not need but attacks on the kernel use.
 */
interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number;
  readonly refused: readonly number[];
  /** The first number of the x32 variant of the calls, which would pass the list. */
  readonly alias?: number;
}

/** In order: add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, io_uring_setup, _enter, _register. */
const ARCHITECTURES: { readonly [arch: string]: Architecture } = {
  x64: { audit: 0xc000_003e, refused: [248, 249, 250, 321, 298, 323, 425, 426, 427], alias: 0x4000_0000 },
  arm64: { audit: 0xc000_00b7, refused: [217, 218, 219, 280, 241, 282, 425, 426, 427] },
};

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ALLOW = 0x7fff_0000;
const PERMISSION_DENIED = 0x0005_0001;

/** The filter as a BPF program for `bwrap --seccomp`; null for an unknown processor. */
export function seccompFilter(arch: string = process.arch): Buffer | null {
  const known = ARCHITECTURES[arch];
  if (known === undefined) return null;
  const aliases = known.alias === undefined ? [] : [[JUMP_IF_AT_LEAST, known.alias] as const];
  const tests = [...aliases, ...known.refused.map((number) => [JUMP_IF_EQUAL, number] as const)];
  const denied = tests.length + 1;
  return Buffer.concat([
    instruction(LOAD, ARCHITECTURE_OFFSET),
    instruction(JUMP_IF_EQUAL, known.audit, 0, denied + 1),
    instruction(LOAD, NUMBER_OFFSET),
    ...tests.map(([code, value], index) => instruction(code, value, denied - index - 1)),
    instruction(RETURN, ALLOW),
    instruction(RETURN, PERMISSION_DENIED),
  ]);
}

/** `struct sock_filter`: a code, two jump offsets, a value. */
function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}

/**
 * A seccomp filter for the sandbox. It refuses system calls that reach state outside the namespaces of the sandbox, such as
 * the keyrings of the user and sockets to the hypervisor, and calls that ordinary programs do not need but attacks use.
 */
interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number;
  readonly refused: readonly number[];
  /** The first number of the x32 variant of the calls, which would pass the list. */
  readonly alias?: number;
  readonly socket: number;
  /** Makes a segment of memory that no process has to hold. Its second argument is the size. */
  readonly segment: number;
  /** Calls that make a file of memory without a name: memfd_create, memfd_secret. */
  readonly files: readonly number[];
  /** Calls that make namespaces. Their first argument has the flags. */
  readonly namespaces: readonly number[];
  /** Calls that set the mode of a file, and the position of the mode. */
  readonly modes: readonly (readonly [number: number, argument: number])[];
  /** Calls that open or create a file, and the position of the flags. The mode comes next. */
  readonly opens: readonly (readonly [number: number, argument: number])[];
}

/** In order: add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, io_uring_setup, _enter, _register, setns. */
const ARCHITECTURES: { readonly [arch: string]: Architecture } = {
  x64: {
    audit: 0xc000_003e,
    refused: [248, 249, 250, 321, 298, 323, 425, 426, 427, 308],
    alias: 0x4000_0000,
    socket: 41,
    segment: 29,
    files: [319, 447],
    // clone, unshare
    namespaces: [56, 272],
    // chmod, fchmod, fchmodat, fchmodat2, creat, mknod, mknodat
    modes: [
      [90, 1],
      [91, 1],
      [268, 2],
      [452, 2],
      [85, 1],
      [133, 1],
      [259, 2],
    ],
    // open, openat
    opens: [
      [2, 1],
      [257, 2],
    ],
  },
  arm64: {
    audit: 0xc000_00b7,
    refused: [217, 218, 219, 280, 241, 282, 425, 426, 427, 268],
    socket: 198,
    segment: 194,
    files: [279, 447],
    namespaces: [220, 97],
    modes: [
      [52, 1],
      [53, 2],
      [452, 2],
      [33, 2],
    ],
    opens: [[56, 2]],
  },
};
/** Calls whose arguments a filter cannot see: clone3, openat2. Programs fall back to the older calls. */
const HIDDEN = [435, 437];
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. All of them end at the network namespace. */
const FAMILIES = [1, 2, 10, 16];
/** Memory that belongs to no process cannot be counted. The kernel allows 4,096 segments, so together they stay small. */
const SEGMENT_MAX = 64 * 1024;
const NEW_USER_NAMESPACE = 0x1000_0000;
const CREATE = 0o100;
/** The bits that make a program run as the owner or the group of its file. */
const SET_ID = 0o6000;

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;
const ALLOW = 0x7fff_0000;
const PERMISSION_DENIED = 0x0005_0001;
const NOT_IMPLEMENTED = 0x0005_0026;
const FAMILY_NOT_SUPPORTED = 0x0005_0061;

/** An instruction. A jump goes on with the next instruction, or to a label. */
interface Step {
  readonly code: number;
  readonly value: number;
  readonly yes?: string;
  readonly no?: string;
  readonly label?: string;
}

/** The filter as a BPF program for `bwrap --seccomp`; null for an unknown processor. */
export function seccompFilter(arch: string = process.arch): Buffer | null {
  const known = ARCHITECTURES[arch];
  if (known === undefined) return null;
  const { audit, alias, refused, socket, segment, files, namespaces, modes, opens } = known;
  const isCall = (value: number, yes: string): Step => ({ code: JUMP_IF_EQUAL, value, yes });
  return assembled([
    { code: LOAD, value: ARCHITECTURE_OFFSET },
    { code: JUMP_IF_EQUAL, value: audit, no: 'denied' },
    { code: LOAD, value: NUMBER_OFFSET },
    ...(alias === undefined ? [] : [{ code: JUMP_IF_AT_LEAST, value: alias, yes: 'denied' }]),
    ...refused.map((number) => isCall(number, 'denied')),
    ...[...HIDDEN, ...files].map((number) => isCall(number, 'unknown')),
    isCall(segment, 'segment'),
    isCall(socket, 'socket'),
    ...namespaces.map((number) => isCall(number, 'namespace')),
    ...modes.map(([number, argument]) => isCall(number, `mode${argument}`)),
    ...opens.map(([number, argument]) => isCall(number, `open${argument}`)),
    { code: RETURN, value: ALLOW },
    { code: LOAD, value: argumentAt(0), label: 'socket' },
    ...FAMILIES.map((value): Step => ({ code: JUMP_IF_EQUAL, value, yes: 'allowed' })),
    { code: RETURN, value: FAMILY_NOT_SUPPORTED },
    { code: LOAD, value: argumentAt(1) + 4, label: 'segment' },
    { code: JUMP_IF_AT_LEAST, value: 1, yes: 'denied' },
    { code: LOAD, value: argumentAt(1) },
    { code: JUMP_IF_AT_LEAST, value: SEGMENT_MAX + 1, yes: 'denied', no: 'allowed' },
    { code: LOAD, value: argumentAt(0), label: 'namespace' },
    { code: JUMP_IF_ANY_BIT, value: NEW_USER_NAMESPACE, yes: 'denied', no: 'allowed' },
    ...[1, 2].flatMap((argument): Step[] => [
      { code: LOAD, value: argumentAt(argument), label: `open${argument}` },
      { code: JUMP_IF_ANY_BIT, value: CREATE, yes: `mode${argument + 1}`, no: 'allowed' },
    ]),
    ...[1, 2, 3].flatMap((argument): Step[] => [
      { code: LOAD, value: argumentAt(argument), label: `mode${argument}` },
      { code: JUMP_IF_ANY_BIT, value: SET_ID, yes: 'denied', no: 'allowed' },
    ]),
    { code: RETURN, value: ALLOW, label: 'allowed' },
    { code: RETURN, value: NOT_IMPLEMENTED, label: 'unknown' },
    { code: RETURN, value: PERMISSION_DENIED, label: 'denied' },
  ]);
}

/** The lower half of an argument. The kernel ignores the upper half of these arguments. */
function argumentAt(index: number): number {
  return ARGUMENTS_OFFSET + 8 * index;
}

/** `struct sock_filter` for each step: a code, two distances to jump, a value. */
function assembled(steps: readonly Step[]): Buffer {
  const labels = new Map(steps.flatMap(({ label }, index) => (label === undefined ? [] : [[label, index] as const])));
  const distance = (label: string | undefined, from: number): number =>
    label === undefined ? 0 : (labels.get(label) as number) - from - 1;
  return Buffer.concat(
    steps.map(({ code, value, yes, no }, index) => {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt16LE(code, 0);
      bytes.writeUInt8(distance(yes, index), 2);
      bytes.writeUInt8(distance(no, index), 3);
      bytes.writeUInt32LE(value, 4);
      return bytes;
    }),
  );
}

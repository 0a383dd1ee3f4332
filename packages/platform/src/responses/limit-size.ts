/** Breaks off a stream that is larger than `max` bytes, with the given error. */
export function limitSize(max: number, tooLarge: () => Error): TransformStream<Bytes, Bytes> {
  let size = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      size += chunk.length;
      if (size > max) controller.error(tooLarge());
      else controller.enqueue(chunk);
    },
  });
}

export type Bytes = Uint8Array<ArrayBuffer>;

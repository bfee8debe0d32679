/** Header blocks, put together from the frames that they come in (RFC 9113, 6.2 and 6.10). */
import { dependsOnItself, protocolError, unpadded } from "./frame-checks.ts";
import type { Frame } from "./frame-reader.ts";
import { ConnectionError, errorCode, flag, frameType } from "./protocol.ts";

/** A header block comes in at most so many frames. */
export const headerFramesMax = 64;

export interface HeaderBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  /** Its priority is nonsense: so is the request. */
  readonly isSelfDependent: boolean;
  /** A view of what arrived, or a copy: to be used at once. */
  readonly payload: Buffer;
}

interface OpenBlock extends HeaderBlock {
  readonly parts: Buffer[];
  bytes: number;
}

export class HeaderBlocks {
  readonly #bytesMax: number;
  #open: OpenBlock | undefined;

  /** Compressed, a block of the allowed size is smaller than its limit. */
  constructor(headerBytesMax: number) {
    this.#bytesMax = headerBytesMax * 2;
  }

  /** Nothing else may come before it is finished. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** The whole block, if this is all of it. */
  begin(frame: Frame): HeaderBlock | undefined {
    const { streamId, flags } = frame;
    if (streamId % 2 === 0) throw protocolError(`a request with the number ${streamId}`);
    let payload = unpadded(frame);
    let isSelfDependent = false;
    if ((flags & flag.priority) !== 0) {
      if (payload.length < 5) throw new ConnectionError(errorCode.frameSizeError, "no priority");
      isSelfDependent = dependsOnItself(streamId, payload);
      payload = payload.subarray(5);
    }
    const isEnd = (flags & flag.endStream) !== 0;
    const block: HeaderBlock = { streamId, isEnd, isSelfDependent, payload };
    if ((flags & flag.endHeaders) !== 0) return block;
    // A copy: the rest comes with later bytes.
    this.#open = { ...block, parts: [Buffer.from(payload)], bytes: payload.length };
    return undefined;
  }

  /** The whole block, if this was the rest of it. */
  goOn({ type, streamId, flags, payload }: Frame): HeaderBlock | undefined {
    const block = this.#open as OpenBlock;
    if (type !== frameType.continuation || streamId !== block.streamId)
      throw protocolError("a header block was not finished");
    block.bytes += payload.length;
    block.parts.push(Buffer.from(payload));
    // Many small parts are an attack.
    if (block.bytes > this.#bytesMax || block.parts.length > headerFramesMax)
      throw new ConnectionError(errorCode.enhanceYourCalm, "a header block without end");
    if ((flags & flag.endHeaders) === 0) return undefined;
    this.#open = undefined;
    return { ...block, payload: Buffer.concat(block.parts) };
  }
}

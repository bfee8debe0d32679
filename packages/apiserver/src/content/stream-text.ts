/**
 * A response that is encoded while it is sent: a few milliseconds of it in a turn, and no more than
 * its reader consumes.
 */
import { systemClock, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { eventLoopCosts, eventLoopLimits } from "../event-loop/index.ts";

/** The chunks of a response; undefined where encoding yields to the event loop. */
export type TextChunks = Iterable<string | undefined>;

/** The cost of encoding a byte of such a response, see `ApiResponse`. */
export const generatedMicrosPerByte: number = eventLoopCosts.madeByte;

const { msPerTurn, chunkChars } = eventLoopLimits.madeAnswers;

export async function* streamText(texts: TextChunks): AsyncGenerator<Uint8Array> {
  let waiting: string[] = [];
  let chars = 0;
  let endsAt = systemClock.monotonic() + msPerTurn;
  for (const text of texts) {
    if (text !== undefined) {
      waiting.push(text);
      chars += text.length;
    }
    if (systemClock.monotonic() >= endsAt) {
      await yieldToEventLoop();
      endsAt = systemClock.monotonic() + msPerTurn;
    }
    if (chars < chunkChars) continue;
    yield Buffer.from(waiting.join(""));
    waiting = [];
    chars = 0;
  }
  if (chars > 0) yield Buffer.from(waiting.join(""));
}

/** The body of a request as handlers see it: the one door to it, whatever it came as. */
import { runSync, runSyncFirst } from "@kcp-ts/machinery/base";
import {
  type BodyKind,
  type DecodedBody,
  decodeInPieces,
  type SentBody,
} from "../content/index.ts";
import { header, type MaybePromise } from "../request/api-request.ts";
import { bodyBytesMax, type HandlerRequest } from "./context.ts";

export async function readSent(handled: HandlerRequest): Promise<SentBody> {
  const { request } = handled;
  const bytes = await request.readBody(bodyBytesMax);
  return { bytes, contentType: header(request.headers, "content-type"), yaml: handled.yaml };
}

/** Parsing, shaping and validating larger bodies takes some milliseconds each: others have their turn in between. */
const largeBodyBytes = 32 << 10;

export function isLargeBody({ bytes, yaml }: SentBody): boolean {
  const { length } = yaml !== undefined && "json" in yaml ? yaml.json : bytes;
  return length >= largeBodyBytes;
}

export function decodeSent(sent: SentBody, expected: BodyKind): MaybePromise<DecodedBody> {
  const work = decodeInPieces(sent, expected);
  return isLargeBody(sent) ? runSyncFirst(work) : runSync(work);
}

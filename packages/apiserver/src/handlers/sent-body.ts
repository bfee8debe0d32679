/** The body of a request as handlers see it: the one door to it, whatever it came as. */
import { runSync, runSyncFirst } from "@kcp-ts/machinery/base";
import {
  type BodyKind,
  type DecodedBody,
  decodeInPieces,
  type SentBody,
} from "../content/index.ts";
import { header } from "../request/api-request.ts";
import type { HandlerRequest } from "./context.ts";

export function sentBody({ request, body, yaml }: HandlerRequest): SentBody {
  return { bytes: body ?? noBytes, contentType: header(request.headers, "content-type"), yaml };
}

const noBytes = new Uint8Array();

/** Parsing, shaping and validating larger bodies takes some milliseconds each: others have their turn in between. */
const largeBodyBytes = 32 << 10;

export function isLargeBody({ bytes, yaml }: SentBody): boolean {
  const { length } = yaml !== undefined && "json" in yaml ? yaml.json : bytes;
  return length >= largeBodyBytes;
}

export async function decodeSent(sent: SentBody, expected: BodyKind): Promise<DecodedBody> {
  const work = decodeInPieces(sent, expected);
  return isLargeBody(sent) ? runSyncFirst(work) : runSync(work);
}

/** The body of a request as handlers see it: the one door to it, whatever it came as. */
import {
  type BodyKind,
  type DecodedBody,
  decodeInPieces,
  type SentBody,
} from "../content/index.ts";
import { header, type MaybePromise } from "../request/api-request.ts";
import { promptly } from "../request/other-work.ts";
import { bodyBytesMax, type HandlerRequest } from "./context.ts";

export async function readSent(handled: HandlerRequest): Promise<SentBody> {
  const { request } = handled;
  const bytes = await request.readBody(bodyBytesMax);
  return { bytes, contentType: header(request.headers, "content-type"), yaml: handled.yaml };
}

/** At once, unless it is long. */
export function decodeSent(sent: SentBody, expected: BodyKind): MaybePromise<DecodedBody> {
  return promptly(decodeInPieces(sent, expected));
}

/** What there is to decode. */
export function sentLength({ bytes, yaml }: SentBody): number {
  return yaml !== undefined && "json" in yaml ? yaml.json.length : bytes.length;
}

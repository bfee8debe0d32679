/** Negotiates the encoding of an OpenAPI document. */
import { statusError } from "@kcp-ts/machinery/status";
import type { EncodingV2 } from "./document-v2.ts";

/** The media type of responses; in requests an `@` may replace the third dot from the end. */
export const protobufTypeV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const askedProtobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

const jsonTypes: ReadonlySet<string> = new Set(["application/json", "application/*", "*/*"]);
/** More clauses than any client sends. */
const clausesMax = 100;

export function encodingV2(accept: string | undefined): EncodingV2 {
  for (const type of acceptedTypes(accept)) {
    if (jsonTypes.has(type)) return "json";
    if (type === protobufTypeV2 || type === askedProtobufV2) return "protobuf";
  }
  throw statusError.notAcceptable(["application/json", askedProtobufV2]);
}

export function isJsonAccepted(accept: string | undefined): boolean {
  return acceptedTypes(accept).some((type) => jsonTypes.has(type));
}

/** The preferred type first. */
function acceptedTypes(accept: string | undefined): string[] {
  if (accept === undefined || accept.trim() === "") return ["*/*"];
  return accept
    .split(",", clausesMax)
    .map((clause) => {
      const [type = "", ...parameters] = clause.split(";").map((part) => part.trim().toLowerCase());
      const quality = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
      return { type, quality: Number(quality) || 0 };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type);
}

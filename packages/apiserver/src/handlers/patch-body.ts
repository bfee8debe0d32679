/** Parses the body of a patch as JSON; throws a 400 when it is not JSON. */
import type { Resumable } from "@kcp-ts/machinery/base";
import { JsonSyntaxError, type ParsedJson } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { parseBody } from "../content/index.ts";

export function* parseJsonPatchBody(text: string): Resumable<ParsedJson> {
  try {
    return yield* parseBody(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw statusError.badRequest(`error decoding patch: ${error.message}`);
  }
}

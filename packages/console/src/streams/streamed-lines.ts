/** A response that goes on: its lines, as they come. */
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk/client";

/** A longer line is cut: programs print megabytes without a line feed. */
const lineCharactersMax = 16_384;

/**
 * The lines of the response to a GET; throws what the server answers instead. `path` is below the
 * client's logical cluster.
 */
export async function* streamedLines(
  client: Client,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const request = { method: "GET", path: client.basePath + path, headers: {}, signal } as const;
  const { status, body } = await client.transport.send(request);
  if (status !== 200) throw await refusalOf(status, body);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = (lines.pop() as string).slice(0, lineCharactersMax);
    for (const line of lines) yield line.slice(0, lineCharactersMax);
  }
  if (rest !== "") yield rest;
}

async function refusalOf(
  code: number,
  body: { text(bytesMax: number): Promise<string> },
): Promise<Error> {
  const text = await body.text(bounds.refusal.bytesMax);
  if (!text.startsWith("{")) return new Error(`the server answered ${code}: ${text}`);
  const status = parseBounded(bounds.refusal, text) as JsonObject;
  const { reason, message } = status as { reason?: string; message?: string };
  return new StatusError({
    code,
    reason: (reason ?? "Unknown") as never,
    message: message ?? `the server answered ${code}`,
  });
}

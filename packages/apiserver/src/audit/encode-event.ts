import { type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";

/** What backends tell of: how many events they lost, and why. */
export interface LossObserver {
  readonly onDropped: (events: number) => void;
  readonly onError: (error: unknown) => void;
}

/** The event as JSON; one that has none (nested too deeply, too long) is lost, which is told and counted. */
export function encodeEvent(
  event: JsonObject,
  { onDropped, onError }: LossObserver,
): string | undefined {
  try {
    return stringifyJson(event);
  } catch (error) {
    onError(error);
    onDropped(1);
    return undefined;
  }
}

import { type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";

/** LossObserver: backends report the number of events that they lost, and the reason. */
export interface LossObserver {
  readonly onDropped: (events: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * The event as JSON; an event that cannot be encoded (nested too deeply, too long) is lost,
 * reported and counted.
 */
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

import { statusError } from "@kcp-ts/machinery/status";

/**
 * An invalid object that a webhook or a policy produces is a 500, whatever the failure policy: the
 * client did not cause it.
 */
export async function inServerWords<Result>(body: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    throw statusError.internal((error as Error).message);
  }
}

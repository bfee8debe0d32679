/** Creates the request header authenticator of trusted proxies from options. */
import {
  type Authenticator,
  ClientCertificateAuthenticator,
  ReloadableClientCa,
  RequestHeaderAuthenticator,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import type { FileWatch } from "@kcp-ts/pki";
import { OptionsError } from "../options.ts";
import { readFlagFile } from "./start-up.ts";

export interface RequestHeaderOptions {
  /** The CA of proxies; no proxy is trusted if omitted. Read again when it changes. */
  readonly requestHeaderClientCaFile?: string | undefined;
  /** Common names of proxies; every certificate of the CA if empty. */
  readonly requestHeaderAllowedNames?: readonly string[] | undefined;
  readonly requestHeaderUsernameHeaders?: readonly string[] | undefined;
  readonly requestHeaderUidHeaders?: readonly string[] | undefined;
  readonly requestHeaderGroupHeaders?: readonly string[] | undefined;
  readonly requestHeaderExtraHeadersPrefix?: readonly string[] | undefined;
}

export async function composeRequestHeaders(
  options: RequestHeaderOptions,
  { files, clock }: { readonly files: FileWatch; readonly clock: Clock },
): Promise<Authenticator[]> {
  const headers = {
    username: namesOf("username-headers", options.requestHeaderUsernameHeaders),
    uid: namesOf("uid-headers", options.requestHeaderUidHeaders),
    group: namesOf("group-headers", options.requestHeaderGroupHeaders),
    extraPrefix: namesOf("extra-headers-prefix", options.requestHeaderExtraHeadersPrefix),
  };
  if (headers.uid.length > 0 && !headers.uid.includes("x-remote-uid"))
    throw new OptionsError(
      "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work",
    );
  const { requestHeaderClientCaFile: path, requestHeaderAllowedNames: allowedNames = [] } = options;
  refuseEmpty("allowed-names", allowedNames);
  if (path === undefined) return [];
  const pem = await readFlagFile("--requestheader-client-ca-file", path);
  const pool = new ReloadableClientCa(pem, path);
  await files.watch([path], ([renewed = ""]) => pool.reload(renewed));
  const certificates = new ClientCertificateAuthenticator({ authorities: [pool], clock });
  return [new RequestHeaderAuthenticator({ certificates, allowedNames, headers })];
}

function namesOf(flag: string, names: readonly string[] = []): readonly string[] {
  refuseEmpty(flag, names);
  return names.map((name) => name.trim().toLowerCase());
}

function refuseEmpty(flag: string, values: readonly string[]): void {
  if (values.some((value) => value.trim() === ""))
    throw new OptionsError(`empty value in "requestheader-${flag}"`);
}

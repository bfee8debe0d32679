/**
 * A client whose lists and watches return metadata only, for any type: for controllers that count
 * or follow objects and do not read their content.
 */
import { Client, type Transport } from "@kcp-ts/sdk";

export function metadataClient(client: Client, userAgent: string): Client {
  const { transport, basePath, clock, random } = client;
  return new Client({
    transport: metadataTransport(transport),
    basePath,
    clock,
    random,
    userAgent,
  });
}

const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const partialList =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

function metadataTransport(transport: Transport): Transport {
  return {
    send(request) {
      const isWatch = /[?&]watch=/.test(request.path);
      const accept = isWatch ? partial : partialList;
      return transport.send({ ...request, headers: { ...request.headers, accept } });
    },
    close: () => transport.close(),
  };
}

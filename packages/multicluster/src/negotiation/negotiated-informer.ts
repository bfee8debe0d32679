/** The cache of NegotiatedAPIResources. */
import type { Indexers, SharedInformerOptions } from "@kcp-ts/sdk";
import { byDefinition, definitionName, type NegotiatedAPIResource } from "../api/index.ts";

export const negotiatedInformer: SharedInformerOptions<
  NegotiatedAPIResource,
  NegotiatedAPIResource
> = {
  transform: (object) => {
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata };
  },
  indexers: {
    [byDefinition]: { values: ({ spec }) => [definitionName(spec)] },
  } satisfies Indexers<NegotiatedAPIResource>,
};

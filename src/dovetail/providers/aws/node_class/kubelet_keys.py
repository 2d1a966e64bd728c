"""Lists the keys of KubeletConfiguration (`kubelet.config.k8s.io/v1beta1`, Kubernetes 1.35).

What is inside of an object is left to the kubelet, which reads its file strictly as well.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class KeyShape(StrEnum):
    """What a key holds, as messages call it."""

    BOOL = "true or false"
    COUNT = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    DURATION = 'a duration such as "30s"'
    TEXTS = "a list of texts"
    LIST = "a list"
    TEXT_MAP = "a map of texts"
    OBJECT = "an object"


_KEYS: Final = {
    KeyShape.BOOL: """
        cgroupsPerQOS cpuCFSQuota enableContentionProfiling enableControllerAttachDetach
        enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler enableServer
        enableSystemLogHandler enableSystemLogQuery failCgroupV1 failSwapOn kernelMemcgNotification
        localStorageCapacityIsolation makeIPTablesUtilChains mergeDefaultEvictionSettings
        protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault
        serializeImagePulls serverTLSBootstrap singleProcessOOMKill
    """,
    KeyShape.COUNT: """
        containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS
        evictionMaxPodGracePeriod healthzPort imageGCHighThresholdPercent
        imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst kubeAPIQPS
        maxOpenFiles maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages
        oomScoreAdj podPidsLimit podsPerCore port readOnlyPort registryBurst registryPullQPS
    """,
    KeyShape.NUMBER: "memoryThrottlingFactor",
    KeyShape.TEXT: """
        address apiVersion cgroupDriver cgroupRoot clusterDomain
        configMapAndSecretChangeDetectionStrategy containerLogMaxSize containerRuntimeEndpoint
        contentType cpuManagerPolicy hairpinMode healthzBindAddress
        imagePullCredentialsVerificationPolicy imageServiceEndpoint kind kubeReservedCgroup
        kubeletCgroups memoryManagerPolicy podCIDR podLogsDir providerID reservedSystemCPUs
        resolvConf showHiddenMetricsForVersion staticPodPath staticPodURL systemCgroups
        systemReservedCgroup tlsCertFile tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy
        topologyManagerScope volumePluginDir
    """,
    KeyShape.DURATION: """
        containerLogMonitorInterval cpuCFSQuotaPeriod cpuManagerReconcilePeriod
        evictionPressureTransitionPeriod fileCheckFrequency httpCheckFrequency imageMaximumGCAge
        imageMinimumGCAge nodeStatusReportFrequency nodeStatusUpdateFrequency runtimeRequestTimeout
        shutdownGracePeriod shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout
        syncFrequency volumeStatsAggPeriod
    """,
    KeyShape.TEXTS: """
        allowedUnsafeSysctls clusterDNS enforceNodeAllocatable preloadedImagesVerificationAllowlist
        tlsCipherSuites
    """,
    KeyShape.LIST: "reservedMemory shutdownGracePeriodByPodPriority",
    KeyShape.TEXT_MAP: """
        cpuManagerPolicyOptions evictionHard evictionMinimumReclaim evictionSoft
        evictionSoftGracePeriod kubeReserved qosReserved systemReserved topologyManagerPolicyOptions
    """,
    KeyShape.OBJECT: """
        authentication authorization crashLoopBackOff featureGates logging memorySwap
        staticPodURLHeader tracing userNamespaces
    """,
}
SHAPES: Final = {key: shape for shape, keys in _KEYS.items() for key in keys.split()}
# A node has its taints from the NodePool, and its unregistered taint from the controller.
FORBIDDEN: Final = "registerWithTaints"
MANAGED: Final = (
    "clusterDNS",
    "maxPods",
    "podsPerCore",
    "systemReserved",
    "kubeReserved",
    "evictionHard",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "evictionMaxPodGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "cpuCFSQuota",
)
SIGNALS: Final = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pid")

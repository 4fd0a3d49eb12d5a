// The attributes of a launch by cudaLaunchKernelEx().

#include <string>

#include "emulator/api/errors.h"
#include "emulator/engine/written.h"
#include "emulator/include/cuda_runtime.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {

bool take_attributes(const LaunchConfig& launch, LaunchAttributes& taken) {
    const auto refuse = [&](const std::string& what) {
        report_and_print("the launch at " + short_place(launch.file, launch.line) + " " + what);
        written::note_failed_launch();
        set_last_error(cudaErrorNotSupported);
        return false;
    };
    for (unsigned i = 0; i < launch.config->numAttrs; ++i) {
        const cudaLaunchAttribute& attribute = launch.config->attrs[i];
        const auto& value = attribute.val;
        switch (attribute.id) {
            case cudaLaunchAttributeIgnore:
            case cudaLaunchAttributePriority:
                break;
            case cudaLaunchAttributeCooperative:
                taken.cooperative = value.cooperative;
                break;
            case cudaLaunchAttributeClusterDimension:
                taken.cluster = value.clusterDim;
                break;
            case cudaLaunchAttributeProgrammaticStreamSerialization:
                taken.programmatic = value.programmaticStreamSerializationAllowed;
                break;
            default:
                return refuse("has the attribute " + std::to_string(attribute.id) +
                              " of cudaLaunchAttributeID, which the emulator lacks");
        }
    }
    if (taken.cooperative && taken.programmatic)
        return refuse(
            "is cooperative and has programmatic stream serialization: the emulator lacks both "
            "together");
    return true;
}

}  // namespace emulator

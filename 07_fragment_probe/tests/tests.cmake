# Included by tests/CMakeLists.txt.
add_program_tests(probe ARCHS sm_70 sm_75 sm_80 OPTIONS --all)
add_program_tests(volta_tables ARCHS sm_70 sm_75 sm_80)
add_program_tests(ptx_check ARCHS sm_70 sm_75 sm_80 sm_90)
add_program_tests(tensor_core_check ARCHS sm_75 sm_80 sm_90 TOOL --outputs 20000)
add_program_test(07_tensor_core_check.measured cpu tensor_core_check --measured)
add_program_tests(mma_maps)
add_program_tests(custom_load ARCHS sm_75 sm_80 TOOL --verify-only)  # it refuses sm_70
foreach(build cpu gpu)
  add_program_test(07_alignment.${build} ${build} alignment)
endforeach()
add_pytest(07_fragment_probe.count_mma 07_fragment_probe/tests/test_machine_code.py -k ptx)
add_pytest(07_fragment_probe.sass 07_fragment_probe/tests/test_machine_code.py -k sass)
add_pytest(07_fragment_probe.volta_code 07_fragment_probe/tests/test_machine_code.py -k volta)

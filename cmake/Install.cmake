# Headers, static libraries and ShardtypeConfig.cmake.
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY SHARDTYPE_LIBRARIES)

# One name that stands for every layer.
add_library(Shardtype INTERFACE)
target_link_libraries(Shardtype INTERFACE ${libraries})
install(TARGETS Shardtype ${libraries} EXPORT ShardtypeTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/shardtype DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Shardtype)
install(EXPORT ShardtypeTargets NAMESPACE Shardtype:: DESTINATION
  ${package_dir})
configure_package_config_file(cmake/ShardtypeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ShardtypeConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/ShardtypeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ShardtypeConfig.cmake
  ${PROJECT_BINARY_DIR}/ShardtypeConfigVersion.cmake
  DESTINATION ${package_dir})
